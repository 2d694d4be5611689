import { databaseUrl, heard, hear, peer, poolSize, push, serve } from './program';

// A run is a workflow of three steps, each of which DBOS writes down: the push, and what the worker says of it twice.

type Work = (id: string) => Promise<void>;

interface DbosPackage {
  DBOS: {
    setConfig(config: object): void;
    launch(): Promise<void>;
    registerWorkflow(work: Work, options: { name: string }): Work;
    runStep(step: () => Promise<void>, options: { name: string }): Promise<void>;
    startWorkflow(workflow: Work, options: { workflowID: string }): (id: string) => Promise<unknown>;
    getWorkflowStatus(id: string): Promise<{ status: string } | null>;
  };
}

const { DBOS } = peer('@dbos-inc/dbos-sdk') as DbosPackage;

const workflow = DBOS.registerWorkflow(
  async (id) => {
    await DBOS.runStep(() => push(id), { name: 'push' });
    await DBOS.runStep(() => heard(id, 'running'), { name: 'running' });
    await DBOS.runStep(() => heard(id, 'completed'), { name: 'completed' });
  },
  { name: 'run' },
);

void (async () => {
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: databaseUrl,
    systemDatabasePoolSize: poolSize,
    logLevel: 'error',
    applicationVersion: '1',
  });
  await DBOS.launch();
  await serve({
    launch: async (id) => void (await DBOS.startWorkflow(workflow, { workflowID: id })(id)),
    report: hear,
    read: async (id) => ((await DBOS.getWorkflowStatus(id))?.status === 'SUCCESS' ? 'completed' : 'running'),
  });
})();
