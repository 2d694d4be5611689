import { CopyText } from '../ui/copy-text';

/** Instructions for installing an agent's worker: one shell command, or the file for other ways. */
export function InstallWorker({ agentId, workerKey }: { agentId: string; workerKey: string }) {
  const settings = `AGENT_ID=${agentId} SERVICE_API_KEY=${workerKey}`;
  const file = `${location.origin}/worker/muster-worker.js`;
  return (
    <>
      <CopyText
        label="Install the worker: run this on the machine"
        text={`curl -fsSL ${location.origin}/worker/install.sh | ${settings} sh`}
      />
      <p className="text-dim">
        The machine needs Node 20.19 or newer and Python 3. The worker starts at once, and with systemd also at each
        boot of the machine. The agent is online within seconds. Environment variables for the worker, such as
        IMAGING_ROOT, are saved if they are set when you run the command.
      </p>
      <p className="text-dim">
        On the machine, <code className="font-mono text-xs">muster worker status</code> shows the worker’s state and the
        installed programs. <code className="font-mono text-xs">muster worker</code> also has{' '}
        <code className="font-mono text-xs">logs</code>, <code className="font-mono text-xs">upgrade</code> and{' '}
        <code className="font-mono text-xs">uninstall</code>. Running the command above again upgrades the worker too.
      </p>
      <details>
        <summary className="font-medium">Other ways</summary>
        <div className="mt-2 flex flex-col gap-3">
          <p>
            The worker is one file:{' '}
            <a href={file} className="text-accent underline">
              muster-worker.js
            </a>
            , with its{' '}
            <a href={`${file}.sha256`} className="text-accent underline">
              SHA-256
            </a>
            . Start it manually or with your own service manager:
          </p>
          <CopyText
            label="Start the worker"
            text={[`SERVICE_BASE_URL=${location.origin}`, ...settings.split(' '), 'node muster-worker.js'].join(
              ' \\\n  ',
            )}
          />
        </div>
      </details>
    </>
  );
}
