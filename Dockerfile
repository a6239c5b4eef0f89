# The server build: evaluates encrypted programs over HTTP, and has no type of a secret key.
#
#     docker build -t limbwise-server .
#     docker run --rm -p 127.0.0.1:8080:8080 -v state:/state -v ./token:/token:ro limbwise-server
#
# `token` is a file of mode 600 that user 10001 can read: docs/serve.md, "Who may do what".
FROM rust:1.95-bookworm AS build
# rust-toolchain.toml asks for "stable", which rustup would fetch: the image's own compiler is the one that is meant.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p limbwise-cli --bin limbwise --no-default-features

FROM debian:bookworm-slim
RUN useradd --uid 10001 --create-home --home-dir /state limbwise
COPY --from=build /src/target/release/limbwise /usr/local/bin/limbwise
USER limbwise
VOLUME /state
EXPOSE 8080
ENTRYPOINT ["limbwise"]
CMD ["serve", "/state", "--bind", "0.0.0.0:8080", "--token-file", "/token"]
