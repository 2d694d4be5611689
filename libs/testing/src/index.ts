export { BrowserDriver } from './fakes/browser-driver';
export { appendEntries, followAgent, logLine } from './agent-timeline';
export { type Harness, type HarnessOptions, startHarness, type Tenant } from './app-harness';
export { authenticatorCode } from './authenticator-code';
export { TestAuthenticator } from './test-authenticator';
export { behindLock, besideLock } from './database/behind-lock';
export { countDeadlocks } from './database/count-deadlocks';
export { type ClonedDatabase, cloneDatabase, emptyDatabase, openPool } from './database/cloned-database';
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
export { FakeModel, type ModelRule, type ModelScript } from './fakes/fake-model';
export type { FakeModelCall } from './fakes/model-wire';
export { FakeClock } from './fakes/fake-clock';
export { type FakeMachine, FakeMachines } from './fakes/fake-machines';
export { FakeWorker } from './fakes/fake-worker';
export { makeZip, type ZipEntry } from './fakes/make-zip';
export { type CollectedSpan, TraceCollector } from './fakes/trace-collector';
export { sessionProgram, writeStableCode } from '@muster/workflows';
export { FakePortal, type PortalRequest } from './portal/fake-portal';
export { type PortalDesign } from './portal/portal-pages';
export { type Answer, HttpClient } from './http-client';
export { isLongForm, longForm } from './long-form';
export { longestTurn, maxTurnMs } from './longest-turn';
export { type LargeOrganization, type OrganizationSize, seedLargeOrganization } from './house/seed-large-organization';
export { listRequests, readRequests } from './house/house-requests';
export { freePort, killAll, processesOf } from './processes';
export { type ReadPlan, readPlans } from './database/read-plans';
export { testConfig, testEnvironment, testMasterKey, type TestStack, testStack } from './stack';
export { seeded } from './seeded';
export { testPassword } from './test-password';
export { waitFor } from './wait-for';
export { type MadeInstallation, makeInstallation } from './make-installation';
export { ControlPlane } from './machines/control-plane';
export { endCommands } from './machines/end-commands';
export { type AgentRef, useMachines } from './machines/use-machines';
