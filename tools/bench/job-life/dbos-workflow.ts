import { databaseUrl, heard, hear, peer, poolSize, push, serve } from './program';

// A run is a workflow of three steps, each of which DBOS writes down: the push, and what the worker says of it twice. What
// the worker says is acknowledged from memory, where a crash loses it; or, as with us, when it is durable.

type Work = (id: string) => Promise<void>;

interface DbosPackage {
  DBOS: {
    setConfig(config: object): void;
    launch(): Promise<void>;
    registerWorkflow(work: Work, options: { name: string }): Work;
    runStep(step: () => Promise<void>, options: { name: string }): Promise<void>;
    startWorkflow(workflow: Work, options: { workflowID: string }): (id: string) => Promise<unknown>;
    send(id: string, message: string, topic: string): Promise<void>;
    recv(topic: string, timeoutSeconds: number): Promise<string | null>;
    getWorkflowStatus(id: string): Promise<{ status: string } | null>;
  };
}

const { DBOS } = peer('@dbos-inc/dbos-sdk') as DbosPackage;

const heardSeconds = 60;

async function heardDurably(topic: string): Promise<void> {
  if ((await DBOS.recv(topic, heardSeconds)) === null) throw new Error(`the worker did not say ${topic}`);
}

export async function serveDbos({ durableReports }: { durableReports: boolean }): Promise<void> {
  const workflow = DBOS.registerWorkflow(
    async (id) => {
      await DBOS.runStep(() => push(id), { name: 'push' });
      for (const status of ['running', 'completed'] as const) {
        if (durableReports) await heardDurably(status);
        else await DBOS.runStep(() => heard(id, status), { name: status });
      }
    },
    { name: 'run' },
  );
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
    report: durableReports ? (id, status) => DBOS.send(id, status, status) : hear,
    read: async (id) => ((await DBOS.getWorkflowStatus(id))?.status === 'SUCCESS' ? 'completed' : 'running'),
  });
}
