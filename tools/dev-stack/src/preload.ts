const fakedClock = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC', 'DONT_FAKE_MONOTONIC'];

/**
 * The variables that decide which libraries a server loads. A preloaded library is passed on only if it is libfaketime,
 * because tests move the clocks of Postgres and Redis together with their own.
 */
export function buildPreloadEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['LD_LIBRARY_PATH', ...(env['FAKETIME'] ? fakedClock : [])];
  const passed = Object.fromEntries(names.filter((name) => env[name]).map((name) => [name, env[name]]));
  // Debian's Redis allocates with jemalloc, which reads the time when it starts. libfaketime allocates when it starts. So
  // each would wait for the other, unless the C library allocates for libfaketime.
  if (passed['LD_PRELOAD']) passed['LD_PRELOAD'] = `${passed['LD_PRELOAD']}:libc.so.6`;
  return passed;
}
