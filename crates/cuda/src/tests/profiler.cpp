// A profiler's part played for a test: what NVTX_INJECTION64_PATH names, as small as it can be. It writes down the ranges
// that it is told of, a line each: the thread (in order of first ranges), + or -, name, payload.
//
// Types are those of nvtx3/nvtxDetail/nvtxTypes.h; `c++ -fsyntax-only -DNVTX_HEADERS -I.../include` compares them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

typedef void (*Function)();
struct Callbacks {
  size_t bytes;
  int (*functions)(int module, Function*** table, unsigned* size);
};
struct VersionInfo {
  size_t bytes;
  uint32_t version, reserved;
  void (*told)(uint32_t);
};
struct Attributes {
  uint16_t version, bytes;
  uint32_t category;
  int32_t color_kind;
  uint32_t color;
  int32_t payload_kind, reserved;
  uint64_t payload;
  int32_t message_kind;
  const char* message;
};

#ifdef NVTX_HEADERS
#include <nvtx3/nvToolsExt.h>
#define SAME(ours, field, theirs, other) \
  static_assert(offsetof(ours, field) == offsetof(theirs, other) && sizeof(ours) == sizeof(theirs), #field)
SAME(Callbacks, functions, NvtxExportTableCallbacks, GetModuleFunctionTable);
SAME(VersionInfo, version, NvtxExportTableVersionInfo, version);
SAME(VersionInfo, told, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
SAME(Attributes, bytes, nvtxEventAttributes_t, size);
SAME(Attributes, color, nvtxEventAttributes_t, color);
SAME(Attributes, payload_kind, nvtxEventAttributes_t, payloadType);
SAME(Attributes, payload, nvtxEventAttributes_t, payload);
SAME(Attributes, message_kind, nvtxEventAttributes_t, messageType);
SAME(Attributes, message, nvtxEventAttributes_t, message);
static_assert(NVTX_VERSION == 3 && NVTX_ETID_CALLBACKS == 1 && NVTX_ETID_VERSIONINFO == 3, "tables");
static_assert(NVTX_CBID_CORE_RangePushEx == 8 && NVTX_CBID_CORE_RangePop == 11 && NVTX_CB_MODULE_CORE == 1, "functions");
static_assert(NVTX_MESSAGE_TYPE_ASCII == 1 && NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 == 1, "kinds");
static_assert(NVTX_CBID_CORE_SIZE == 16 && NVTX_CBID_CUDA_SIZE == 9 && NVTX_CBID_OPENCL_SIZE == 15 &&
              NVTX_CBID_CUDART_SIZE == 7 && NVTX_CBID_CORE2_SIZE == 16 && NVTX_CBID_SYNC_SIZE == 7, "sizes");
static_assert(NVTX_CB_MODULE_CUDA == 2 && NVTX_CB_MODULE_OPENCL == 3 && NVTX_CB_MODULE_CUDART == 4 &&
              NVTX_CB_MODULE_CORE2 == 5 && NVTX_CB_MODULE_SYNC == 6, "modules");
// Functions have the types that a client of the header calls them by.
static NvtxInitializeInjectionNvtxFunc_t initialiser() {
  extern int initialize(NvtxGetExportTableFunc_t);
  return initialize;
}
#endif

static std::mutex guard;
static std::string written;
static int threads = 0;

static void note(const char* what) {
  static thread_local const int own = threads++;
  written += std::to_string(own) + what;
}

static int push(const Attributes* a) {
  const std::lock_guard<std::mutex> held(guard);
  const bool sound = a->version == 3 && a->bytes == sizeof(Attributes) && a->message_kind == 1 && a->color_kind == 0;
  note(sound ? "+" : "?");
  written += a->message;
  if (a->payload_kind == 1) written += " " + std::to_string(a->payload);
  written += "\n";
  return 0;
}

static int pop() {
  const std::lock_guard<std::mutex> held(guard);
  note("-\n");
  return 0;
}

// Set by the test: it wants no ranges.
extern "C" {
int refuses = 0;
}

// What has been written down so far, which is forgotten; its length.
extern "C" size_t take_ranges(char* out, size_t room) {
  const std::lock_guard<std::mutex> held(guard);
  const size_t length = written.size() < room ? written.size() : room;
  std::memcpy(out, written.data(), length);
  written.clear();
  return length;
}

extern "C" int InitializeInjectionNvtx2(const void* (*exported)(uint32_t)) {
  const auto* callbacks = static_cast<const Callbacks*>(exported(1));
  const auto* version = static_cast<const VersionInfo*>(exported(3));
  if (refuses || exported(2) || !callbacks || callbacks->bytes < sizeof(Callbacks) || !version || version->version != 3)
    return 0;
  version->told(3);
  // As profilers do: every module there is, every function a place of its own, none for number 0.
  const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  for (int module = 1; module <= 6; ++module) {
    Function** table = nullptr;
    unsigned size = 0;
    if (!callbacks->functions(module, &table, &size) || size != sizes[module] || table[0]) return 0;
    for (unsigned i = 1; i < size; ++i)
      if (!table[i]) return 0;
    if (module == 1) {
      *table[8] = reinterpret_cast<Function>(push);
      *table[11] = reinterpret_cast<Function>(pop);
    }
  }
  return callbacks->functions(0, nullptr, nullptr) == 0 && callbacks->functions(7, nullptr, nullptr) == 0;
}
