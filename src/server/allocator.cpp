// How jemalloc, which the program is linked with, treats memory. glibc's allocator keeps what was
// freed below anything that is still in use: a server that once held ten million jobs would stay as
// large for ever; and giving it back with malloc_trim stops everybody for as long as that takes.
// jemalloc gives it back by itself, from a thread of its own, this long after it was freed. The
// more it gives back at a time, the longer who frees more meanwhile waits for it: in a FLUSH of ten
// million jobs (`./dev bench bystander`) 15 to 25 ms with five seconds, 9 to 17 with one, 8 to 13
// with a tenth.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf =
    "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0,narenas:2";
}
