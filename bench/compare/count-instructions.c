/* A plugin for the user mode of QEMU: counts executed instructions by thread, in a file that other processes read (QEMU, "TCG plugins", API 1). */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* of qemu-plugin.h, which packages of QEMU do not have */
typedef uint64_t qemu_plugin_id_t;
typedef void (*translated)(qemu_plugin_id_t id, void *block);
typedef void (*executed)(unsigned int thread, void *instructions);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated callback);
void qemu_plugin_register_vcpu_tb_exec_cb(void *block, executed callback, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const void *block);
__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { THREADS = 512 };
static volatile uint64_t *counts;

static void count(unsigned int thread, void *instructions) { counts[thread % THREADS] += (uint64_t)(uintptr_t)instructions; }

static void translate(qemu_plugin_id_t id, void *block) {
  qemu_plugin_register_vcpu_tb_exec_cb(block, count, 0, (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  const char *path = getenv("INSTRUCTIONS_FILE");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, THREADS * sizeof *counts) != 0) return 1;
  counts = mmap(NULL, THREADS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counts == MAP_FAILED) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  return 0;
}
