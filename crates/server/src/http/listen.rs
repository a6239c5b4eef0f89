//! Connections: limited in number, closed when idle, and shut down in order when the server stops.

use super::{App, access::Access, guard::Local, router, tls::Tls};
use crate::{
    refusal::StartError,
    store::Store,
    workers::{Log, Workers},
};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    signal,
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;

const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time that a connection may stand still beyond that of a request.
const IDLE_TIME: Duration = Duration::from_secs(15);
/// Threads that answer. What waits for the disk has others; what computes has its own.
const ANSWERING: usize = 2;

/// A server that has its address and does not answer yet.
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    store: Arc<Store>,
    access: Access,
    tls: Option<Tls>,
    log: Log,
}

impl Server {
    /// Takes an address.
    ///
    /// # Errors
    /// [`StartError::Open`] for one that others reach, without a token; the system's.
    pub fn bind(
        address: SocketAddr,
        access: Access,
        tls: Option<Tls>,
        store: Arc<Store>,
        log: Log,
    ) -> Result<Self, StartError> {
        access.allows(address)?;
        let named = || StartError::system(format!("bind to {address}"));
        let listener = std::net::TcpListener::bind(address).map_err(named())?;
        listener.set_nonblocking(true).map_err(named())?;
        let address = listener.local_addr().map_err(named())?;
        Ok(Self { listener, address, store, access, tls, log })
    }

    /// The address; the port is the one that the system gave, if none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process gets SIGTERM or SIGINT, then ends requests and jobs, each within `grace`. Returns
    /// whether all jobs had ended. Others resume from their checkpoint when a server opens the directory again.
    pub fn run(self, grace: Duration) -> Result<bool, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(ANSWERING).enable_all().build();
        let runtime = runtime.map_err(StartError::system("starting threads"))?;
        let workers = Workers::start(&self.store, &self.log).map_err(StartError::system("starting threads"))?;
        let (store, log) = (self.store.clone(), self.log.clone());
        runtime.block_on(self.answer(grace))?;
        log("stopping: jobs end at their next step");
        store.close();
        let ended = workers.wait(grace);
        // What still waits for the disk is not waited for.
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(ended)
    }

    async fn answer(self, grace: Duration) -> Result<(), StartError> {
        let Self { listener, store, access, tls, log, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(StartError::system("listening"))?;
        let mut stop = Box::pin(asked_to_stop()?);
        let limits = *store.limits();
        let places = Arc::new(Semaphore::new(limits.connections));
        let (stopping, stopped) = watch::channel(());
        let connections = Connections {
            router: router(App::new(store, access, log.clone())),
            graceful: GracefulShutdown::new(),
            tls,
            stopping: stopped,
            idle: limits.request_time() + IDLE_TIME,
        };
        loop {
            let next = async {
                let place = places.clone().acquire_owned().await;
                (place, listener.accept().await)
            };
            match tokio::select! { next = next => next, () = &mut stop => break } {
                (Ok(place), Ok((stream, _))) => connections.take(stream, place),
                (_, Err(error)) => {
                    // Most often too many open files: others will end.
                    log(&format!("cannot accept a connection: {error}"));
                    sleep(Duration::from_millis(100)).await;
                }
                (Err(_), _) => break,
            }
        }
        drop((listener, stopping));
        let _ = timeout(grace, connections.graceful.shutdown()).await;
        Ok(())
    }
}

struct Connections {
    router: Router,
    graceful: GracefulShutdown,
    tls: Option<Tls>,
    /// Its other end is dropped when the server stops: a greeting that is under way is not waited for.
    stopping: watch::Receiver<()>,
    idle: Duration,
}

impl Connections {
    fn take(&self, stream: TcpStream, place: OwnedSemaphorePermit) {
        let Ok(local) = stream.local_addr() else { return };
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_read_timeout(Some(self.idle));
        stream.set_write_timeout(Some(self.idle));
        let router = self.router.clone().layer(Extension(Local(local.ip())));
        let (watcher, tls, mut stopping) = (self.graceful.watcher(), self.tls.clone(), self.stopping.clone());
        tokio::spawn(async move {
            let _place = place;
            let stream = Box::pin(stream);
            match tls {
                None => converse(stream, router, watcher).await,
                // Whoever does not come to an end with its greeting, or greets without TLS, is no event either.
                Some(Tls(acceptor)) => {
                    let greeted = tokio::select! {
                        greeted = timeout(HEAD_TIME, acceptor.accept(stream)) => greeted,
                        _ = stopping.changed() => return,
                    };
                    if let Ok(Ok(stream)) = greeted {
                        converse(stream, router, watcher).await;
                    }
                }
            }
        });
    }
}

/// Answers the requests of a connection.
async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, router: Router, watcher: Watcher) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let _ = watcher.watch(connection).await; // a client that went away is no event
}

/// Ends when the process is asked to stop.
#[cfg(unix)]
fn asked_to_stop() -> Result<impl Future<Output = ()>, StartError> {
    use signal::unix::{SignalKind, signal};
    let handle = |kind| signal(kind).map_err(StartError::system("handling signals"));
    let (mut terminate, mut interrupt) = (handle(SignalKind::terminate())?, handle(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () }
    })
}

/// Ends when the process is asked to stop.
#[cfg(not(unix))]
fn asked_to_stop() -> Result<impl Future<Output = ()>, StartError> {
    Ok(async {
        let _: std::io::Result<()> = signal::ctrl_c().await;
    })
}
