import { upgradeCluster, type ClusterUpgrade } from './upgrade-cluster';

// A separate process, because its modules would otherwise stay in memory while `npm start` runs.

export type UpgradeMessage = { progress: string } | { startError: string } | { fault: string } | { done: true };

process.once('message', (options: Pick<ClusterUpgrade, 'dataDir' | 'upgrade'>) => {
  upgradeCluster({ ...options, env: process.env, say: (line) => void sendMessage({ progress: line }) })
    .then(
      () => sendMessage({ done: true }),
      (error: Error) =>
        sendMessage(
          ['StartError', 'DevStackError'].includes(error.name)
            ? { startError: error.message }
            : { fault: error.stack ?? error.message },
        ),
    )
    .finally(() => process.exit());
});

function sendMessage(message: UpgradeMessage): Promise<void> {
  return new Promise((resolve) => process.send!(message, () => resolve()));
}
