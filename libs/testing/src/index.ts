export { type Harness, type HarnessOptions, startHarness, type Tenant } from './app-harness';
export { type ClonedDatabase, cloneDatabase, emptyDatabase } from './cloned-database';
export { makeAgent, makeApiKey, makeOrganization, makeUser } from './factories';
export { FakeClock } from './fake-clock';
export { type Answer, HttpClient } from './http-client';
export { testConfig, testEnvironment, testMasterKey, type TestStack, testStack } from './stack';
export { testPassword } from './test-password';
export { waitFor } from './wait-for';
