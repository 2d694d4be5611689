import { AccessModule, type Principal } from '@muster/access';
import type { LaunchJobBody } from '@muster/contracts';
import { DatabaseModule } from '@muster/database';
import { type Harness, makeAgent, makeOrganization, makeWorkflow, startHarness } from '@muster/testing';
import { StorageConfig } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { VmConfig } from '@muster/vm';
import { Dispatch } from '../dispatch/dispatch';
import { DispatchConfig } from '../dispatch/dispatch.config';
import { JobsModule } from '../jobs.module';
import { launchJob } from '../launch/launch-job';

/** Gives a test the functions of this library on a separate database that has a workflow and an online agent. */
export interface JobsFixture {
  harness: Harness;
  dispatch: Dispatch;
  caller: Principal;
  organizationId: string;
  workflowId: string;
  agentId: string;
  launch(input?: Partial<LaunchJobBody>): Promise<string>;
  /** Launches a job and dispatches it to its agent. */
  dispatched(input?: Partial<LaunchJobBody>): Promise<string>;
  makeOnlineAgent(): Promise<string>;
  query<T extends object = any>(sql: string, values?: unknown[]): Promise<T[]>;
  close(): Promise<void>;
}

export async function openJobsFixture(
  env: Record<string, string> = {},
  modules: (new () => object)[] = [],
): Promise<JobsFixture> {
  const harness = await startHarness({
    name: 'gateway',
    configs: [DispatchConfig, VmConfig, StorageConfig],
    modules: [DatabaseModule, AccessModule, VaultModule, JobsModule, ...modules],
    env,
  });
  const { db, app } = harness;
  const dispatch = app.nest.get(Dispatch, { strict: false });
  const { id: organizationId } = await makeOrganization(db);
  const { id: workflowId } = await makeWorkflow(db, { organizationId });
  let agentCount = 0;
  const makeOnlineAgent = async () => {
    agentCount += 1;
    return (await makeAgent(db, { organizationId, name: `Agent ${agentCount}`, status: 'online' })).id;
  };
  const agentId = await makeOnlineAgent();
  const caller: Principal = {
    kind: 'api_key',
    id: 'testkey01',
    scope: 'api',
    agentId: null,
    role: 'member',
    organizationId,
    organizationName: 'Organization',
    organizationSuspended: false,
  };
  const launchTestJob = async (input: Partial<LaunchJobBody> = {}) => {
    const body = { workflowId, ...(input.target ? {} : { agentId }), ...input };
    return (await db.transaction({ organizationId }, (tx) => launchJob(tx, caller, body, new Date()))).jobId;
  };
  return {
    harness,
    dispatch,
    caller,
    organizationId,
    workflowId,
    agentId,
    launch: launchTestJob,
    makeOnlineAgent,
    dispatched: async (input = {}) => {
      const jobId = await launchTestJob(input);
      await dispatch.startNextJob(input.agentId ?? agentId);
      return jobId;
    },
    query: (sql, values = []) => db.query('system', sql, values) as Promise<never[]>,
    close: () => harness.close(),
  };
}
