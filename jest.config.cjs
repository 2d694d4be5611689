/** Whether long test files (`*.long.spec.ts`) run too; see tools/test/test.mjs. */
const withLongFiles = process.env.MUSTER_TEST_LONG_FILES === 'true';

/** One configuration for all projects: nx passes the folder of a project, and `npm test` passes none. */
module.exports = async () => {
  const { getSwcOptions: swcOptions } = await import('./tools/build/build.mjs');
  return {
    rootDir: __dirname,
    cacheDirectory: '<rootDir>/node_modules/.cache/jest',
    roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/tools'],
    testMatch: ['**/*.spec.ts'],
    testPathIgnorePatterns: ['/node_modules/', '/fixtures/', ...(withLongFiles ? [] : ['\\.long\\.spec\\.ts$'])],
    modulePathIgnorePatterns: ['<rootDir>/dist/'],
    // The test files of one Jest worker share a process, so shared code is loaded only once (tools/test/runtime).
    testEnvironment: '<rootDir>/tools/test/runtime/shared-environment.cjs',
    runtime: '<rootDir>/tools/test/runtime/shared-runtime.cjs',
    testRunner: '<rootDir>/tools/test/runtime/measured-runner.cjs',
    testEnvironmentOptions: { swc: await swcOptions() },
    transform: {},
    globalSetup: '<rootDir>/tools/test/global-setup.cjs',
    globalTeardown: '<rootDir>/tools/test/global-teardown.cjs',
    reporters: ['default', ['<rootDir>/tools/test/suite-reporter.cjs', { rootDir: __dirname }]],
    testTimeout: 120_000,
    // One more than the number of processors of the smallest supported machine, because many tests wait for a server.
    maxWorkers: 3,
    testSequencer: '<rootDir>/tools/test/spread-processes.cjs',
    // A Jest worker never frees the code that it has loaded for hundreds of files, so it is replaced when it reaches
    // this size.
    workerIdleMemoryLimit: '1200MB',
  };
};
