import { useQuery } from '@tanstack/react-query';
import { installationsHistory, type PackInstallation, type WorkflowPack } from '../../../api/generated';
import { Time } from '../../../format/time';
import { ErrorNote } from '../../../ui/error-note';
import { Skeleton } from '../../../ui/page';
import { formatVersion } from '../format-version';

const most = 50;

interface HistoryProps {
  pack: WorkflowPack;
  installation: PackInstallation;
}

/** The pins and rollbacks of an installation, each with its user and reason. */
export function InstallationHistory({ pack, installation: { id, name, updatedAt } }: HistoryProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['packs', 'installation', id, 'history', updatedAt],
    queryFn: ({ signal }) => installationsHistory({ path: { id }, query: { limit: most }, signal }),
  });
  const formatVersionName = (versionId: string) => {
    const version = pack.versions.find((each) => each.versionId === versionId);
    return version ? formatVersion(version) : versionId;
  };
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />;
  return (
    <ol aria-label={`History of ${name}`} className="flex flex-col gap-1 rounded-control bg-sunken p-2.5">
      {data.history.length === 0 && <li className="text-dim">The installation was never pinned to a version.</li>}
      {data.history.map(({ at, by, action, from, to, reason }) => (
        <li key={at}>
          {action === 'rollback' ? 'Rolled back to' : 'Pinned to'}{' '}
          <bdi className="font-medium">{formatVersionName(to)}</bdi>
          {from && (
            <>
              {' '}
              from <bdi>{formatVersionName(from)}</bdi>
            </>
          )}{' '}
          by <bdi>{by}</bdi>, <Time at={at} />
          {reason && (
            <span className="text-dim">
              : <bdi>{reason}</bdi>
            </span>
          )}
        </li>
      ))}
      {data.nextCursor && <li className="text-dim">The newest {most}.</li>}
    </ol>
  );
}
