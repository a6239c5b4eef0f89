// A mock of NVIDIA's driver library: the calls that crates/cuda makes, as our reading of CUDA's documentation has them,
// with the kernels of host.cpp. Built by `c++ -shared` as libcuda.so, found through LD_LIBRARY_PATH; see standin.rs.
//
// It is late and strict. What is asked of a stream is done when something waits for it, in an order that only streams and
// events bind (order=early: odd streams at once; order=random: by lot). Memory that is not there yet, or not any more, is
// protected, so a kernel that reaches it breaks the context for good, as on a GPU. What a real driver would refuse, or do
// without an order between two streams, is refused, and told in the report; so is every handle that is left at the end.
// LIMBWISE_STANDIN holds `name=value` with commas between: report (a file), order, memory (MiB), devices, version, and which
// call fails: stream, alloc, refuse (a launch, once), launch (while it runs: for good), instantiate, each a number from 1 on.
#include "../../kernels/host.cpp"
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <elf.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <vector>

enum Code {
  INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201, NO_BINARY_FOR_GPU = 209, INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701, CONTEXT_IS_DESTROYED = 709, LAUNCH_FAILED = 719
};
static const std::map<int, const char*> NAMES = {
    {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {100, "CUDA_ERROR_NO_DEVICE"}, {101, "CUDA_ERROR_INVALID_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {400, "CUDA_ERROR_INVALID_HANDLE"},
    {500, "CUDA_ERROR_NOT_FOUND"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"}, {719, "CUDA_ERROR_LAUNCH_FAILED"}};
static const u64 PAGE = 4096, HELD = 32 << 20, SHARED = 227 << 10, CANARY = 0x5a5a5a5a5a5a5a5a;

// Handles are never used again, so one that is used after its end is seen.
struct Handle { const char* kind; };
struct Context : Handle {};
struct Stream;
struct Point { Stream* stream; bool reached; };  // of a stream's work
struct Work { std::function<int()> run; std::shared_ptr<Point> after, then; u64 bytes; };
struct Stream : Handle { bool odd; std::deque<Work> work; u64 bytes; };
struct Event : Handle { std::shared_ptr<Point> point; };
struct Function : Handle { std::string name; std::vector<u64> sizes; u32 threads, registers, shared; };
struct Module : Handle { std::map<std::string, Function*> functions; };
struct Kernel { Function* function; u32 grid[3], threads, shared; std::vector<std::vector<u64>> arguments; };
struct Node : Handle { Kernel kernel; std::vector<Node*> after; };
struct Graph : Handle { std::vector<Node*> nodes; };
struct Exec : Handle { std::shared_ptr<std::vector<Kernel>> kernels; };
struct Piece { u64 bytes; bool host, there, leaving; char* base; u64 span; u64 copies; };

struct State {
  std::recursive_mutex lock;
  std::map<std::string, std::string> settings;
  std::map<std::string, u64> calls, counted;
  std::set<Handle*> live;
  std::vector<Stream*> streams;
  std::map<u64, Piece> pieces;
  Context* context = nullptr;
  u64 retained = 0, taken = 0, kernels = 0, lots = 1;
  int broken = 0;
  bool started = false;
  FILE* report = nullptr;
  State() {
    const char* text = std::getenv("LIMBWISE_STANDIN");
    for (std::string rest = text ? text : ""; !rest.empty();) {
      const std::string one = rest.substr(0, rest.find(','));
      rest = one.size() == rest.size() ? "" : rest.substr(one.size() + 1);
      settings[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
    }
    if (settings.count("report")) report = std::fopen(settings["report"].c_str(), "a");
  }
  u64 number(const char* name, u64 usual) { return settings.count(name) ? std::stoull(settings[name]) : usual; }
  bool fails(const char* name) { return settings.count(name) && ++counted[name] == number(name, 0); }
  void tell(const std::string& line) {
    std::fprintf(report ? report : stderr, "%s\n", line.c_str());
    std::fflush(report);
  }
};
static State& state() {
  static State& whole = *new State;  // outlives the library's end, where the report is written
  return whole;
}
static thread_local Context* current = nullptr;
static thread_local const char* called = "";
static int refuse(int code, const std::string& why) {
  state().tell(std::string("refused: ") + called + ": " + NAMES.at(code) + ": " + why);
  return code;
}

// What of handles and memory is left.
static void left() {
  std::map<std::string, u64> kinds;
  for (Handle* handle : state().live) ++kinds[handle->kind];
  for (auto& [at, piece] : state().pieces) ++kinds[piece.host ? "host memory" : "device memory"];
  for (auto& [kind, count] : kinds)
    if (!state().broken) state().tell("left: " + std::to_string(count) + " " + kind);
}
__attribute__((destructor)) static void end() {
  if (!state().report) return;
  for (auto& [name, count] : state().calls) state().tell("called: " + name + " " + std::to_string(count));
  state().tell("kernels: " + std::to_string(state().kernels));
  left();
}

// Entry of a call that needs nothing, the driver started, or a context on this thread.
enum Needs { NOTHING, START, CONTEXT };
struct Entry {
  std::lock_guard<std::recursive_mutex> guard{state().lock};
  int code = 0;
  Entry(const char* name, Needs needs) {
    called = name, ++state().calls[name];
    if (needs != NOTHING && !state().started) code = refuse(NOT_INITIALIZED, "before cuInit");
    else if (needs == CONTEXT && !current) code = refuse(INVALID_CONTEXT, "no context on this thread");
    else if (needs == CONTEXT && !state().live.count(current)) code = refuse(CONTEXT_IS_DESTROYED, "it was released");
    else if (needs == CONTEXT) code = state().broken;
  }
};
#define API extern "C" __attribute__((visibility("default"))) int
#define ENTER(needs) \
  Entry entry(__func__, needs); \
  if (entry.code) return entry.code;

template <class T> static T* made(T* handle, const char* kind) {
  handle->kind = kind;
  state().live.insert(handle);
  return handle;
}
template <class T> static T* known(void* handle, const char* kind) {
  T* it = static_cast<T*>(static_cast<Handle*>(handle));
  return handle && state().live.count(it) && it->kind == std::string(kind) ? it : nullptr;
}
#define KNOWN(T, name, handle) \
  T* name = known<T>(handle, #T); \
  if (!name) return refuse(INVALID_HANDLE, "no " #T);

// The piece in which all of these bytes lie, if there is one.
static Piece* piece_of(u64 at, u64 bytes) {
  auto next = state().pieces.upper_bound(at);
  if (next == state().pieces.begin()) return nullptr;
  auto& [start, piece] = *std::prev(next);
  return at + bytes <= start + piece.bytes ? &piece : nullptr;
}
static bool touches(u64 at, u64 bytes) {
  auto next = state().pieces.lower_bound(at + bytes);
  return next != state().pieces.begin() && std::prev(next)->first + std::prev(next)->second.bytes > at;
}
// Memory that ends where protected memory begins, protected itself until it appears.
static u64 reserve(u64 bytes, bool host) {
  const u64 span = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
  char* base = static_cast<char*>(mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  const u64 at = u64(base) + span - PAGE - (bytes + 255) / 256 * 256;
  state().pieces[at] = {bytes, host, false, false, base, span, 0};
  return at;
}
static int appear(u64 at) {
  Piece& piece = state().pieces.at(at);
  mprotect(piece.base, piece.span - PAGE, PROT_READ | PROT_WRITE);
  std::memset(reinterpret_cast<void*>(at), 0x5a, std::min<u64>(piece.bytes, 16 << 20));  // not zeros
  piece.there = true;
  return 0;
}
static int vanish(u64 at) {
  Piece& piece = state().pieces.at(at);
  mmap(piece.base, piece.span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  state().pieces.erase(at);
  return 0;
}
static int there(u64 at, u64 bytes) {
  Piece* piece = piece_of(at, bytes);
  return piece && piece->there ? 0 : refuse(ILLEGAL_ADDRESS, "memory is used that is not there yet, or not any more");
}

static sigjmp_buf escape;
static volatile sig_atomic_t guarded = 0;
static void on_fault(int number) {
  if (guarded) siglongjmp(escape, 1);
  std::signal(number, SIG_DFL);
}
static int run_kernel(const Kernel& kernel) {
  const Function& f = *kernel.function;
  if (state().fails("launch")) return ILLEGAL_ADDRESS;
  const u32 grid[5] = {kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.threads, u32(state().kernels++ % 2)};
  std::vector<std::vector<u64>> arguments = kernel.arguments;
  std::vector<void*> pointers;
  std::vector<u64> sizes;
  for (auto& words : arguments) pointers.push_back(words.data()), sizes.push_back(8 * words.size());
  const u64 own = (kernel.shared + 7) / 8;
  std::fill(shared_words, shared_words + sizeof shared_words / 8, CANARY);
  struct sigaction ours = {}, segv, bus;
  ours.sa_handler = on_fault;
  sigaction(SIGSEGV, &ours, &segv), sigaction(SIGBUS, &ours, &bus);
  volatile int code = -1;  // a jump keeps it
  guarded = 1;
  if (!sigsetjmp(escape, 1)) code = limbwise_host_launch(f.name.c_str(), grid, pointers.data(), sizes.data(), sizes.size());
  guarded = 0;
  sigaction(SIGSEGV, &segv, nullptr), sigaction(SIGBUS, &bus, nullptr);
  if (code == -1) return refuse(ILLEGAL_ADDRESS, f.name + " left its memory");
  if (code) return refuse(LAUNCH_FAILED, f.name + ": limbwise_host_launch says " + std::to_string(code));
  const bool within = std::all_of(shared_words + own, std::end(shared_words), [](u64 x) { return x == CANARY; });
  return within ? 0 : refuse(ILLEGAL_ADDRESS, f.name + " left its shared memory");
}

// Does the oldest work of a stream, and before it what it waits for.
static void step(Stream* stream) {
  while (std::shared_ptr<Point> after = stream->work.front().after) {
    if (after->reached || state().broken) break;
    step(after->stream);
  }
  Work work = std::move(stream->work.front());
  stream->work.pop_front();
  stream->bytes -= work.bytes;
  if (work.run && !state().broken) state().broken = work.run();
  if (work.then) work.then->reached = true;
}
static int finish(Stream* stream) {
  while (!stream->work.empty()) step(stream);
  return state().broken;
}
static bool can_go_on(Stream* s) { return !s->work.empty() && !(s->work.front().after && !s->work.front().after->reached); }
static int ask(Stream* stream, Work work) {
  stream->bytes += work.bytes;
  stream->work.push_back(std::move(work));
  if (stream->bytes > HELD) return finish(stream);
  const std::string& order = state().settings["order"];
  for (Stream* s : state().streams) {
    state().lots = state().lots * 6364136223846793005 + 1442695040888963407;
    if (order == "random" && state().lots >> 62 == 0 && can_go_on(s)) step(s);
    while (order == "early" && s->odd && can_go_on(s)) step(s);
  }
  return 0;
}
static int ask(Stream* stream, u64 bytes, std::function<int()> run) { return ask(stream, {run, nullptr, nullptr, bytes}); }

API cuGetErrorName(int code, const char** name) {
  *name = NAMES.count(code) ? NAMES.at(code) : nullptr;
  return *name ? 0 : INVALID_VALUE;
}
API cuInit(u32 flags) {
  ENTER(NOTHING)
  if (flags) return refuse(INVALID_VALUE, "flags");
  if (state().number("devices", 1) == 0) return NO_DEVICE;
  state().started = true;
  return 0;
}
API cuDriverGetVersion(int* version) {
  ENTER(NOTHING)
  *version = int(state().number("version", 13000));
  return 0;
}
API cuDeviceGetCount(int* count) {
  ENTER(START)
  *count = int(state().number("devices", 1));
  return 0;
}
API cuDeviceGet(int* device, int ordinal) {
  ENTER(START)
  *device = ordinal + 40;  // a device is not its number
  return ordinal >= 0 && u64(ordinal) < state().number("devices", 1) ? 0 : refuse(INVALID_DEVICE, "no such device");
}
#define DEVICE_IS(device) \
  if ((device) < 40 || u64(device) >= 40 + state().number("devices", 1)) return refuse(INVALID_DEVICE, "no such device");
API cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER(START)
  DEVICE_IS(device)
  static const std::map<int, int> values = {{75, 9}, {76, 0}, {97, int(SHARED)}, {16, 132}};
  if (!values.count(attribute)) return refuse(INVALID_VALUE, "attribute " + std::to_string(attribute));
  *value = values.at(attribute);
  return 0;
}
API cuDeviceGetName(char* name, int length, int device) {
  ENTER(START)
  DEVICE_IS(device)
  std::snprintf(name, size_t(length), "mock driver");
  return 0;
}
API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  ENTER(START)
  DEVICE_IS(device)
  *bytes = state().number("memory", 8192) << 20;
  return 0;
}
API cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER(START)
  DEVICE_IS(device)
  if (state().retained++ == 0) state().context = made(new Context, "Context");
  *context = static_cast<Handle*>(state().context);
  return 0;
}
API cuDevicePrimaryCtxRelease_v2(int device) {
  ENTER(START)
  DEVICE_IS(device)
  if (state().retained == 0) return refuse(INVALID_CONTEXT, "released more often than retained");
  if (--state().retained > 0) return 0;
  state().live.erase(state().context);
  left();
  state().live.clear(), state().streams.clear();
  while (!state().pieces.empty()) vanish(state().pieces.begin()->first);
  return 0;
}
API cuCtxSetCurrent(void* context) {
  ENTER(START)
  KNOWN(Context, retained, context)
  current = retained;
  return 0;
}
API cuDeviceGetDefaultMemPool(void** pool, int device) {
  ENTER(START)
  DEVICE_IS(device)
  *pool = &state().taken;
  return 0;
}
API cuMemPoolSetAttribute(void* pool, int attribute, void*) {
  ENTER(START)
  return pool == &state().taken && attribute == 4 ? 0 : refuse(INVALID_VALUE, "pool or attribute");
}

API cuStreamCreate(void** stream, u32 flags) {
  ENTER(CONTEXT)
  if (flags > 1) return refuse(INVALID_VALUE, "flags");
  if (state().fails("stream")) return OUT_OF_MEMORY;
  Stream* made_now = made(new Stream, "Stream");
  made_now->odd = state().streams.size() % 2 == 1, made_now->bytes = 0;
  state().streams.push_back(made_now);
  *stream = static_cast<Handle*>(made_now);
  return 0;
}
API cuStreamDestroy_v2(void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  const int code = finish(stream);
  state().live.erase(stream);
  return code;
}
API cuStreamSynchronize(void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  return finish(stream);
}
API cuStreamWaitEvent(void* handle, void* event_handle, u32) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  KNOWN(Event, event, event_handle)
  // A real driver takes it as reached, so there would be no order between the two streams.
  if (!event->point) return refuse(INVALID_VALUE, "an event that was not recorded");
  return ask(stream, {nullptr, event->point, nullptr, 0});
}
API cuEventCreate(void** event, u32 flags) {
  ENTER(CONTEXT)
  if (flags > 3) return refuse(INVALID_VALUE, "flags");
  *event = static_cast<Handle*>(made(new Event, "Event"));
  return 0;
}
API cuEventRecord(void* event_handle, void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  KNOWN(Event, event, event_handle)
  event->point = std::make_shared<Point>(Point{stream, false});
  return ask(stream, {nullptr, nullptr, event->point, 0});
}
API cuEventDestroy_v2(void* handle) {
  ENTER(CONTEXT)
  KNOWN(Event, event, handle)
  state().live.erase(event);
  return 0;
}

API cuMemAllocAsync(u64* at, size_t bytes, void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  if (bytes == 0) return refuse(INVALID_VALUE, "no bytes");
  if (state().fails("alloc") || bytes > (state().number("memory", 8192) << 20) - state().taken) return OUT_OF_MEMORY;
  state().taken += bytes;
  *at = reserve(bytes, false);
  return ask(stream, 0, [at = *at] { return appear(at); });
}
API cuMemFreeAsync(u64 at, void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  auto found = state().pieces.find(at);
  if (found == state().pieces.end() || found->second.host || found->second.leaving) return refuse(INVALID_VALUE, "not allocated");
  found->second.leaving = true, state().taken -= found->second.bytes;
  return ask(stream, 0, [at] { return vanish(at); });
}
API cuMemHostAlloc(void** at, size_t bytes, u32 flags) {
  ENTER(CONTEXT)
  if (bytes == 0 || flags > 7) return refuse(INVALID_VALUE, "no bytes, or flags");
  const u64 piece = reserve(bytes, true);
  *at = reinterpret_cast<void*>(piece);
  return appear(piece);
}
API cuMemFreeHost(void* at) {
  ENTER(CONTEXT)
  auto found = state().pieces.find(u64(at));
  if (found == state().pieces.end() || !found->second.host) return refuse(INVALID_VALUE, "not allocated");
  if (found->second.copies) return refuse(INVALID_VALUE, "copies from it are still to come");
  return vanish(u64(at));
}
// Bytes of the GPU's memory that are not about to be freed.
static bool lies_in(u64 at, u64 bytes) {
  Piece* piece = piece_of(at, bytes);
  return piece && !piece->host && !piece->leaving;
}
API cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  if (!lies_in(to, bytes)) return refuse(INVALID_VALUE, "the target lies outside what was allocated");
  Piece* source = piece_of(u64(from), bytes);
  if (source ? !source->host : touches(u64(from), bytes)) return refuse(INVALID_VALUE, "the source");
  if (source) {  // locked: read when its turn comes
    ++source->copies;
    return ask(stream, 0, [=] {
      --source->copies;
      if (int code = there(to, bytes)) return code;
      std::memcpy(reinterpret_cast<void*>(to), from, bytes);
      return 0;
    });
  }
  std::vector<char> kept(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  return ask(stream, bytes, [to, kept = std::move(kept)] {
    if (int code = there(to, kept.size())) return code;
    std::memcpy(reinterpret_cast<void*>(to), kept.data(), kept.size());
    return 0;
  });
}
// Late though the host's memory is pageable: the documentation leaves that open.
API cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  if (!lies_in(from, bytes)) return refuse(INVALID_VALUE, "the source lies outside what was allocated");
  return ask(stream, 0, [=] {
    if (int code = there(from, bytes)) return code;
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return 0;
  });
}
API cuMemsetD8Async(u64 at, unsigned char byte, size_t bytes, void* handle) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  if (!lies_in(at, bytes)) return refuse(INVALID_VALUE, "outside what was allocated");
  return ask(stream, 0, [=] {
    if (int code = there(at, bytes)) return code;
    std::memset(reinterpret_cast<void*>(at), byte, bytes);
    return 0;
  });
}

// Kernels of machine code for this GPU: parameters, registers and most threads as the compiler wrote them down.
API cuModuleLoadData(void** module, const void* image) {
  ENTER(CONTEXT)
  const char* bytes = static_cast<const char*>(image);
  const auto* head = reinterpret_cast<const Elf64_Ehdr*>(bytes);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return refuse(INVALID_IMAGE, "no machine code");
  if ((head->e_flags >> 8 & 0xff) != 90) return refuse(NO_BINARY_FOR_GPU, "flags " + std::to_string(head->e_flags));
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(bytes + head->e_shoff);
  auto name_of = [&](const Elf64_Shdr& s) { return std::string(bytes + sections[head->e_shstrndx].sh_offset + s.sh_name); };
  Module* loaded = made(new Module, "Module");
  std::map<u32, Function*> symbols;
  for (int i = 0; i < head->e_shnum; ++i)
    if (const std::string name = name_of(sections[i]); name.rfind(".text.", 0) == 0) {
      Function* f = new Function{{"Function"}, name.substr(6), {}, 1024, 0, 48 << 10};
      loaded->functions[f->name] = symbols[sections[i].sh_info & 0xffffff] = f;
    }
  for (int i = 0; i < head->e_shnum; ++i) {
    const std::string name = name_of(sections[i]);
    if (name.rfind(".nv.info", 0) != 0) continue;
    Function* own = name.size() > 9 && loaded->functions.count(name.substr(9)) ? loaded->functions[name.substr(9)] : nullptr;
    const char* end = bytes + sections[i].sh_offset + sections[i].sh_size;
    for (const char* p = bytes + sections[i].sh_offset; p < end;) {  // format, attribute, value or length of what follows
      const unsigned char format = p[0], attribute = p[1];
      unsigned short value;
      u32 words[3] = {};
      std::memcpy(&value, p + 2, 2), p += 4;
      if (format != 4) continue;
      std::memcpy(words, p, std::min<u64>(value, sizeof words)), p += value;
      if (own && attribute == 0x17) {  // a parameter: ordinal and offset, size
        own->sizes.resize(std::max<u64>(own->sizes.size(), (words[1] & 0xffff) + 1));
        own->sizes[words[1] & 0xffff] = words[2] >> 18;
      }
      if (own && attribute == 0x05) own->threads = words[0];
      if (!own && attribute == 0x2f && symbols.count(words[0])) symbols[words[0]]->registers = words[1];
    }
  }
  *module = static_cast<Handle*>(loaded);
  return 0;
}
API cuModuleUnload(void* handle) {
  ENTER(CONTEXT)
  KNOWN(Module, module, handle)
  for (auto& [name, function] : module->functions) state().live.erase(function);
  state().live.erase(module);
  return 0;
}
API cuModuleGetFunction(void** function, void* handle, const char* name) {
  ENTER(CONTEXT)
  KNOWN(Module, module, handle)
  if (!module->functions.count(name)) return refuse(NOT_FOUND, name);
  *function = static_cast<Handle*>(made(module->functions[name], "Function"));
  return 0;
}
API cuFuncSetAttribute(void* handle, int attribute, int value) {
  ENTER(CONTEXT)
  KNOWN(Function, function, handle)
  if (attribute != 8 || value < 0 || u64(value) > SHARED) return refuse(INVALID_VALUE, "attribute or value");
  function->shared = u32(value);
  return 0;
}
// Arguments as they are now.
static int take(Kernel& kernel, void* handle, const u32 (&grid)[6], u32 shared, void** arguments, void** extra) {
  KNOWN(Function, function, handle)
  const u32 threads = grid[3] * grid[4] * grid[5];
  const bool sides = grid[0] && grid[1] && grid[2] && grid[0] < 1u << 31 && grid[1] < 1 << 16 && grid[2] < 1 << 16;
  if (!sides || threads == 0 || threads > function->threads) return refuse(INVALID_VALUE, function->name + ": grid or block");
  if (shared > function->shared) return refuse(INVALID_VALUE, function->name + ": more shared memory than it was given");
  if (extra || !arguments) return refuse(INVALID_VALUE, "arguments");
  if ((function->registers + 7) / 8 * 8 * ((threads + 31) / 32 * 32) > 65536)
    return refuse(LAUNCH_OUT_OF_RESOURCES, function->name + ": registers");
  kernel = {function, {grid[0], grid[1], grid[2]}, threads, shared, {}};
  for (u64 i = 0; i < function->sizes.size(); ++i) {
    kernel.arguments.emplace_back((function->sizes[i] + 7) / 8);
    std::memcpy(kernel.arguments[i].data(), arguments[i], function->sizes[i]);
  }
  return 0;
}
API cuLaunchKernel(void* function, u32 x, u32 y, u32 z, u32 a, u32 b, u32 c, u32 shared, void* handle, void** arguments,
                   void** extra) {
  ENTER(CONTEXT)
  KNOWN(Stream, stream, handle)
  Kernel kernel;
  if (int code = take(kernel, function, {x, y, z, a, b, c}, shared, arguments, extra)) return code;
  if (state().fails("refuse")) return LAUNCH_OUT_OF_RESOURCES;
  return ask(stream, 4096, [kernel] { return run_kernel(kernel); });
}
struct KernelNode { void* function; u32 grid[6], shared; void **arguments, **extra; void *kernel, *context; };
API cuGraphCreate(void** graph, u32 flags) {
  ENTER(CONTEXT)
  if (flags) return refuse(INVALID_VALUE, "flags");
  *graph = static_cast<Handle*>(made(new Graph, "Graph"));
  return 0;
}
API cuGraphAddKernelNode_v2(void** node, void* handle, void* const* after, size_t count, const KernelNode* wanted) {
  ENTER(CONTEXT)
  KNOWN(Graph, graph, handle)
  Node added;
  if (wanted->kernel || wanted->context) return refuse(INVALID_VALUE, "kern or ctx");
  if (int code = take(added.kernel, wanted->function, wanted->grid, wanted->shared, wanted->arguments, wanted->extra)) return code;
  for (size_t i = 0; i < count; ++i) {
    auto found = std::find(graph->nodes.begin(), graph->nodes.end(), static_cast<Node*>(static_cast<Handle*>(after[i])));
    if (found == graph->nodes.end()) return refuse(INVALID_VALUE, "a node of another graph");
    added.after.push_back(*found);
  }
  graph->nodes.push_back(new Node(added));
  *node = static_cast<Handle*>(graph->nodes.back());
  return 0;
}
// Of nodes that may come next, the one that was added last does.
API cuGraphInstantiateWithFlags(void** exec, void* handle, u64 flags) {
  ENTER(CONTEXT)
  KNOWN(Graph, graph, handle)
  if (flags) return refuse(INVALID_VALUE, "flags");
  if (state().fails("instantiate")) return OUT_OF_MEMORY;
  Exec* whole = made(new Exec, "Exec");
  whole->kernels = std::make_shared<std::vector<Kernel>>();
  std::vector<Node*> rest = graph->nodes;
  std::set<Node*> waiting(rest.begin(), rest.end());
  auto free = [&](Node* n) { return std::none_of(n->after.begin(), n->after.end(), [&](Node* a) { return waiting.count(a); }); };
  while (!rest.empty()) {
    auto next = std::prev(std::find_if(rest.rbegin(), rest.rend(), free).base());
    whole->kernels->push_back((*next)->kernel);
    waiting.erase(*next), rest.erase(next);
  }
  *exec = static_cast<Handle*>(whole);
  return 0;
}
API cuGraphDestroy(void* handle) {
  ENTER(CONTEXT)
  KNOWN(Graph, graph, handle)
  state().live.erase(graph);
  return 0;
}
API cuGraphLaunch(void* handle, void* stream_handle) {
  ENTER(CONTEXT)
  KNOWN(Exec, exec, handle)
  KNOWN(Stream, stream, stream_handle)
  for (u64 i = 0; i < exec->kernels->size(); ++i)
    if (int code = ask(stream, 0, [all = exec->kernels, i] { return run_kernel((*all)[i]); })) return code;
  return 0;
}
// One that is still running ends first: its kernels are shared with the stream.
API cuGraphExecDestroy(void* handle) {
  ENTER(CONTEXT)
  KNOWN(Exec, exec, handle)
  state().live.erase(exec);
  return 0;
}
