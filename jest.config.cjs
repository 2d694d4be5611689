/** One configuration for every project: nx runs it with a folder, `npm test` without. */
const { compilerOptions } = require('./tsconfig.base.json');

module.exports = {
  rootDir: __dirname,
  testEnvironment: 'node',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/tools'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/fixtures/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.(t|j|mj)s$': [
      '@swc/jest',
      {
        swcrc: false,
        module: { type: 'commonjs', ignoreDynamic: false },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          keepClassNames: true,
        },
      },
    ],
  },
  transformIgnorePatterns: ['/node_modules/(?!(@nestjs|uuid|@opentelemetry/otlp-exporter-base)/)'],
  moduleNameMapper: Object.fromEntries(
    Object.entries(compilerOptions.paths).map(([name, [path]]) => [`^${name}$`, path.replace('.', '<rootDir>')]),
  ),
  globalSetup: '<rootDir>/tools/test/global-setup.cjs',
  globalTeardown: '<rootDir>/tools/test/global-teardown.cjs',
  reporters: ['default', ['<rootDir>/tools/test/suite-reporter.cjs', { rootDir: __dirname }]],
  testTimeout: 120_000,
  maxWorkers: 2,
  // A worker never gives back what it has loaded for hundreds of files: a new one takes its place.
  workerIdleMemoryLimit: '1200MB',
};
