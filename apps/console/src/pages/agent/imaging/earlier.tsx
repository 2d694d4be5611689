import { useQuery } from '@tanstack/react-query';
import { agentCommandsHistory, type CommandEntry } from '../../../api/generated';
import { Time } from '../../../format/time';
import { StatusMark } from '../../../ui/status-mark';

interface EarlierProps {
  agentId: string;
  kind: CommandEntry['kind'];
  shown: string | undefined;
  show: (commandId: string) => void;
}

const most = 10;

/** Earlier requests of one kind. Only their time and status are stored, not the patient or the files. */
export function EarlierCommands({ agentId, kind, shown, show }: EarlierProps) {
  const { data } = useQuery({
    queryKey: ['commands', agentId, { kind }],
    queryFn: ({ signal }) => agentCommandsHistory({ path: { id: agentId }, query: { kind, limit: most }, signal }),
  });
  const commands = data?.commands ?? [];
  if (commands.length === 0) return null;
  return (
    <details>
      <summary className="text-dim">Earlier requests</summary>
      <ul className="mt-1 flex flex-col gap-0.5">
        {commands.map(({ commandId, status, createdAt }) => (
          <li key={commandId}>
            <button
              type="button"
              aria-current={commandId === shown || undefined}
              onClick={() => show(commandId)}
              className="flex items-center gap-3 rounded-control px-2 py-1 hover:bg-sunken aria-[current=true]:bg-picked"
            >
              <StatusMark status={status} />
              <Time at={createdAt} />
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
