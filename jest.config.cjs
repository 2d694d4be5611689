/** Whether test files that are long by their name (`*.long.spec.ts`) are run too: see tools/test/test.mjs. */
const withLongFiles = process.env.MUSTER_TEST_LONG_FILES === 'true';

/** One configuration for every project: nx runs it with a folder, `npm test` without. */
module.exports = async () => {
  const { getSwcOptions: swcOptions } = await import('./tools/build/build.mjs');
  return {
    rootDir: __dirname,
    cacheDirectory: '<rootDir>/node_modules/.cache/jest',
    roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/tools'],
    testMatch: ['**/*.spec.ts'],
    testPathIgnorePatterns: ['/node_modules/', '/fixtures/', ...(withLongFiles ? [] : ['\\.long\\.spec\\.ts$'])],
    modulePathIgnorePatterns: ['<rootDir>/dist/'],
    // Test files of one worker share its process, and with it all code that is loaded (tools/test/runtime).
    testEnvironment: '<rootDir>/tools/test/runtime/shared-environment.cjs',
    runtime: '<rootDir>/tools/test/runtime/shared-runtime.cjs',
    testRunner: '<rootDir>/tools/test/runtime/measured-runner.cjs',
    testEnvironmentOptions: { swc: await swcOptions() },
    transform: {},
    globalSetup: '<rootDir>/tools/test/global-setup.cjs',
    globalTeardown: '<rootDir>/tools/test/global-teardown.cjs',
    reporters: ['default', ['<rootDir>/tools/test/suite-reporter.cjs', { rootDir: __dirname }]],
    testTimeout: 120_000,
    // One more than the processors of the smallest machine that is supported, because many tests wait for a server.
    maxWorkers: 3,
    testSequencer: '<rootDir>/tools/test/spread-processes.cjs',
    // A worker never gives back what it has loaded for hundreds of files: a new one takes its place.
    workerIdleMemoryLimit: '1200MB',
  };
};
