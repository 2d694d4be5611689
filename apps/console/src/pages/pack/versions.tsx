import { useState } from 'react';
import type { PackVersion, WorkflowPack } from '../../api/generated';
import { formatSize } from '../../format/format';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { EmptyNote, Panel } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { VersionDifferences } from './differences';
import { formatVersion } from './format-version';
import { VersionMenu } from './version-menu';

/** The published versions, newest first, each with its stage, history, differences and actions. */
export function Versions({ pack }: { pack: WorkflowPack }) {
  return (
    <Panel title="Versions">
      {pack.versions.length === 0 && (
        <EmptyNote title="No versions yet.">Use “Publish” to create a version from the draft.</EmptyNote>
      )}
      <ul className="flex flex-col divide-y divide-line">
        {pack.versions.map((version) => (
          <VersionRow key={version.versionId} pack={pack} version={version} />
        ))}
      </ul>
    </Panel>
  );
}

function VersionRow({ pack, version }: { pack: WorkflowPack; version: PackVersion }) {
  const [shown, setShown] = useState<'differences' | 'history' | null>(null);
  const { versionId, number, notes, stage, size, digest, createdBy, createdAt, history } = version;
  const installed = pack.installations.filter(({ pinnedVersionId }) => pinnedVersionId === versionId);
  const others = pack.versions.filter((each) => each.versionId !== versionId);
  const togglePart = (part: typeof shown) => setShown(shown === part ? null : part);
  return (
    <li data-testid="version" className="flex flex-col gap-1 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 font-medium">
          <bdi>{formatVersion(version)}</bdi>
        </span>
        <StatusMark status={stage} />
        <span className="text-dim">
          <bdi>{createdBy}</bdi>, <Time at={createdAt} relative />, {formatSize(size)}
        </span>
        <span className="ml-auto flex items-center gap-2">
          {others.length > 0 && (
            <Button aria-expanded={shown === 'differences'} onClick={() => togglePart('differences')}>
              Compare
            </Button>
          )}
          <Button aria-expanded={shown === 'history'} onClick={() => togglePart('history')}>
            History
          </Button>
          <VersionMenu pack={pack} version={version} />
        </span>
      </div>
      {notes && (
        <p dir="auto" className="whitespace-pre-wrap text-dim">
          {notes}
        </p>
      )}
      {installed.length > 0 && (
        <p className="text-dim">
          Pinned by <bdi>{installed.map(({ name }) => name).join(', ')}</bdi>
        </p>
      )}
      {shown === 'differences' && (
        <VersionDifferences version={version} others={others} initial={others.find((each) => each.number < number)} />
      )}
      {shown === 'history' && (
        <div className="rounded-control bg-sunken p-2.5">
          <p className="font-mono text-xs break-all text-dim">{digest}</p>
          <ol aria-label={`History of version ${number}`} className="mt-1.5 flex flex-col gap-1">
            <li>
              Published by <bdi>{createdBy}</bdi>, <Time at={createdAt} />
            </li>
            {history.map(({ from, to, at, by, reason }) => (
              <li key={at}>
                {from} → <span className="font-medium">{to}</span> by <bdi>{by}</bdi>, <Time at={at} />
                {reason && (
                  <span className="text-dim">
                    : <bdi>{reason}</bdi>
                  </span>
                )}
              </li>
            ))}
          </ol>
        </div>
      )}
    </li>
  );
}
