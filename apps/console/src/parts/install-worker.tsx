import { CopyText } from '../ui/copy-text';

/** How its worker comes onto a machine: one line, which needs Node and Python there; and the file for other ways. */
export function InstallWorker({ agentId, workerKey }: { agentId: string; workerKey: string }) {
  const settings = `AGENT_ID=${agentId} SERVICE_API_KEY=${workerKey}`;
  const file = `${location.origin}/worker/muster-worker.js`;
  return (
    <>
      <CopyText
        label="Install its worker: type this on the machine"
        text={`curl -fsSL ${location.origin}/worker/install.sh | ${settings} sh`}
      />
      <p className="text-dim">
        It needs Node 20.19 or newer and Python 3 there. The worker starts at once, and with the machine where systemd
        is; the agent is online within seconds. IMAGING_ROOT and the other variables of a worker that are set when you
        type it last.
      </p>
      <p className="text-dim">
        There, <code className="font-mono text-xs">muster worker status</code> says how it is and what the machine has;{' '}
        <code className="font-mono text-xs">logs</code>, <code className="font-mono text-xs">upgrade</code> and{' '}
        <code className="font-mono text-xs">uninstall</code> look after it. The line above, typed again, upgrades it
        too.
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
            . Started by hand or by a service of your own:
          </p>
          <CopyText
            label="Start it"
            text={[`SERVICE_BASE_URL=${location.origin}`, ...settings.split(' '), 'node muster-worker.js'].join(
              ' \\\n  ',
            )}
          />
        </div>
      </details>
    </>
  );
}
