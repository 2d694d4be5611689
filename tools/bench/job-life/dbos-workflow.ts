import { databaseUrl, awaitReport, receiveReport, requirePeer, poolSize, pushRun, serveProgram } from './program';

// A run is a workflow of three steps that DBOS stores: the push, and the worker's two reports. Reports are acknowledged
// from memory, where a crash loses them, or in dbos-durable when they are durable, as in Muster.

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

const { DBOS } = requirePeer('@dbos-inc/dbos-sdk') as DbosPackage;

const reportTimeoutSeconds = 60;

async function awaitDurableReport(topic: string): Promise<void> {
  if ((await DBOS.recv(topic, reportTimeoutSeconds)) === null) throw new Error(`the worker did not report ${topic}`);
}

export async function serveDbos({ durableReports }: { durableReports: boolean }): Promise<void> {
  const workflow = DBOS.registerWorkflow(
    async (id) => {
      await DBOS.runStep(() => pushRun(id), { name: 'push' });
      for (const status of ['running', 'completed'] as const) {
        if (durableReports) await awaitDurableReport(status);
        else await DBOS.runStep(() => awaitReport(id, status), { name: status });
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
  await serveProgram({
    launch: async (id) => void (await DBOS.startWorkflow(workflow, { workflowID: id })(id)),
    report: durableReports ? (id, status) => DBOS.send(id, status, status) : receiveReport,
    read: async (id) => ((await DBOS.getWorkflowStatus(id))?.status === 'SUCCESS' ? 'completed' : 'running'),
  });
}
