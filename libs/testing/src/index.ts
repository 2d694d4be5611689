export { BrowserDriver } from './fakes/browser-driver';
export { appendEntries, followAgent, makeLogLine } from './agent-timeline';
export { type Harness, type HarnessOptions, startHarness, type Tenant } from './app-harness';
export { computeAuthenticatorCode } from './authenticator-code';
export { TestAuthenticator } from './test-authenticator';
export { runBehindLock, runBesideLock } from './database/run-behind-lock';
export { runInFullSets } from './database/run-in-full-sets';
export { countDeadlocks } from './database/count-deadlocks';
export { type ClonedDatabase, cloneDatabase, createEmptyDatabase, openPool } from './database/cloned-database';
export {
  makeAgent,
  makeApiKey,
  makeJob,
  makeOrganization,
  makeUser,
  makeWorkflow,
  type TestWorkflow,
} from './factories';
export { EventStream, type ReceivedEvent } from './event-stream';
export { FakeTrackers } from './fakes/fake-trackers';
export { HostileProvider, RealProvider, ssoClient } from './fakes/identity-providers';
export { FakeModel, type ModelRule, type ModelScript } from './fakes/fake-model';
export type { FakeModelCall } from './fakes/model-wire';
export { FakeClock } from './fakes/fake-clock';
export { type FakeMachine, FakeMachines } from './fakes/fake-machines';
export { FakeWorker } from './fakes/fake-worker';
export { type Mail, Mailbox } from './fakes/mailbox';
export { makeZip, type ZipEntry } from './fakes/make-zip';
export { type CollectedSpan, TraceCollector } from './fakes/trace-collector';
export { buildSessionProgram, writeStableCode } from '@muster/workflows';
export { FakePortal, type PortalRequest } from './portal/fake-portal';
export { type PortalDesign } from './portal/portal-pages';
export { type Answer, HttpClient } from './http-client';
export { isLongRun, chooseSize } from './long-form';
export { measureLongestTurn, maxTurnMs } from './measure-longest-turn';
export { type LargeOrganization, type OrganizationSize, seedLargeOrganization } from './house/seed-large-organization';
export { listRequests, readRequests } from './house/house-requests';
export { findFreePort, killAll, findProcesses } from './processes';
export { type ReadPlan, readPlans } from './database/read-plans';
export { loadTestConfig, buildTestEnvironment, testMasterKey, type TestStack, readTestStack } from './stack';
export { createSeededRandom } from './create-seeded-random';
export { testPassword } from './test-password';
export { waitFor } from './wait-for';
export { type MadeInstallation, makeInstallation } from './make-installation';
export { ControlPlane } from './machines/control-plane';
export { endCommands } from './machines/end-commands';
export { type AgentRef, useMachines } from './machines/use-machines';
