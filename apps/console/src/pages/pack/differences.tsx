import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type PackVersion, versionsDiff } from '../../api/generated';
import { ErrorNote } from '../../ui/error-note';
import { inputClass } from '../../ui/form';
import { Skeleton } from '../../ui/page';
import { formatVersion } from './format-version';

interface DifferencesProps {
  version: PackVersion;
  others: PackVersion[];
  /** Version that is compared at first: the one before `version`. */
  initial?: PackVersion;
}

/** Lists the files that a version has added, removed or changed compared with another version. */
export function VersionDifferences({ version, others, initial = others[0]! }: DifferencesProps) {
  const [from, setFrom] = useState(initial.versionId);
  const { packId, versionId } = version;
  const { data, error, refetch } = useQuery({
    queryKey: ['packs', 'one', packId, 'diff', versionId, from],
    queryFn: ({ signal }) => versionsDiff({ path: { id: packId, versionId }, query: { from }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <div className="flex flex-col gap-2 rounded-control bg-sunken p-2.5">
      <label className="flex flex-wrap items-center gap-1.5">
        <span className="text-dim">Compared with</span>
        <select className={`${inputClass} w-auto`} value={from} onChange={({ target }) => setFrom(target.value)}>
          {others.map((each) => (
            <option key={each.versionId} value={each.versionId}>
              {formatVersion(each)}
            </option>
          ))}
        </select>
      </label>
      {!data && (error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />)}
      {data && (
        <ul aria-label="Differences" tabIndex={0} className="max-h-72 overflow-y-auto font-mono text-xs break-all">
          {data.added.length + data.removed.length + data.changed.length === 0 && (
            <li className="font-sans text-dim">Both versions have the same files.</li>
          )}
          {data.added.map((path) => (
            <li key={path} className="text-good">
              + <bdi>{path}</bdi>
            </li>
          ))}
          {data.removed.map((path) => (
            <li key={path} className="text-bad">
              − <bdi>{path}</bdi>
            </li>
          ))}
          {data.changed.map(({ path, from: before, to }) => (
            <li key={path} title={`${before} → ${to}`}>
              ~ <bdi>{path}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
