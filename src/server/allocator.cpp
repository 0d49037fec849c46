// How jemalloc, which the program is linked with, treats memory. glibc's allocator keeps what was
// freed below anything that is still in use: a server that once held ten million jobs would stay as
// large for ever; and giving it back with malloc_trim stops everybody for as long as that takes.
// jemalloc gives it back by itself, from a thread of its own, this long after it was freed. With
// five seconds it gives back so much at a time that who frees more waits 15 to 25 ms for it (FLUSH
// of ten million jobs, `./dev bench bystander`); with one, 6 to 10.
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf =
    "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,narenas:2";
}
