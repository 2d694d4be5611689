import { PackageX } from 'lucide-react';
import type { Job } from '../../api/generated';
import { removeDirectionMarks } from '../../format/one-direction';

/** The rejected reports about the run. */
export function IncompleteReportNote({ run }: { run: Job }) {
  if (run.incomplete.length === 0) return null;
  return (
    <div data-testid="run-incomplete" className="flex items-start gap-2 rounded-control bg-warn-soft p-3">
      <PackageX aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
      <div className="min-w-0">
        <p>The service rejected some data that this run reported. The following data is missing:</p>
        <ul className="max-h-40 list-disc overflow-y-auto pl-4">
          {run.incomplete.map(({ kind, reason }) => (
            <li key={`${kind} ${reason}`} className="[overflow-wrap:anywhere]">
              <bdi>{removeDirectionMarks(reason)}</bdi>{' '}
              <span className="text-xs text-dim">{kind.replaceAll('_', ' ')}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
