/** Variables that the dynamic linker and a preloaded library read; servers get them from the program that starts them. */
const names = ['LD_LIBRARY_PATH', 'LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC', 'DONT_FAKE_MONOTONIC'];

/** The part of the environment that decides which libraries a program loads. */
export function preloadEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(names.filter((name) => env[name]).map((name) => [name, env[name]]));
}
