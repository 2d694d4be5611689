import { useState } from 'react';
import type { PackInstallation, WorkflowPack } from '../../../api/generated';
import { usePermission } from '../../../api/session';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { EmptyNote, Panel } from '../../../ui/page';
import { StatusMark } from '../../../ui/status-mark';
import { InstallationHistory } from './installation-history';
import { InstallationMenu } from './installation-menu';
import { formatVersion } from '../format-version';
import { NewInstallationDialog } from './new-installation';
import { RollBackButton } from './roll-back';

/** The installations of the pack, the version that each runs, and their actions. */
export function Installations({ pack }: { pack: WorkflowPack }) {
  const [isNew, setIsNew] = useState(false);
  const mayChange = usePermission('packs.write');
  return (
    <Panel
      title="Installations"
      actions={mayChange && <Button onClick={() => setIsNew(true)}>New installation</Button>}
    >
      {pack.installations.length === 0 && (
        <EmptyNote title="No installations yet.">
          An installation is pinned to a version in the stage pilot or production. Runs that are launched with the
          installation use that version.
        </EmptyNote>
      )}
      <ul className="flex flex-col divide-y divide-line">
        {pack.installations.map((installation) => (
          <Installation key={installation.id} pack={pack} installation={installation} />
        ))}
      </ul>
      {isNew && <NewInstallationDialog pack={pack} close={() => setIsNew(false)} />}
    </Panel>
  );
}

function Installation({ pack, installation }: { pack: WorkflowPack; installation: PackInstallation }) {
  const [showsHistory, setShowsHistory] = useState(false);
  const mayChange = usePermission('packs.write');
  const { name, metadata, pinnedVersionId, previousVersionId, updatedAt } = installation;
  const pinned = pack.versions.find(({ versionId }) => versionId === pinnedVersionId);
  const previous = pack.versions.find(({ versionId }) => versionId === previousVersionId);
  return (
    <li data-testid="installation" className="flex flex-col gap-1 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 font-medium break-words">
          <bdi>{name}</bdi>
        </span>
        {typeof metadata['ring'] === 'string' && (
          <span className="rounded bg-sunken px-1.5 text-xs">
            ring <bdi>{metadata['ring'].slice(0, 40)}</bdi>
          </span>
        )}
        {pinned ? (
          <span className="flex items-center gap-2">
            <bdi>{formatVersion(pinned)}</bdi> <StatusMark status={pinned.stage} />
          </span>
        ) : (
          <span className="text-warn">not pinned to a version yet: no run can use it</span>
        )}
        <span className="text-dim">
          {previous && (
            <>
              before: <bdi>{formatVersion(previous)}</bdi>,{' '}
            </>
          )}
          <Time at={updatedAt} relative />
        </span>
        <span className="ml-auto flex flex-wrap items-center gap-2">
          {mayChange && <RollBackButton pack={pack} installation={installation} />}
          <Button aria-expanded={showsHistory} onClick={() => setShowsHistory(!showsHistory)}>
            History
          </Button>
          <InstallationMenu pack={pack} installation={installation} />
        </span>
      </div>
      {showsHistory && <InstallationHistory pack={pack} installation={installation} />}
    </li>
  );
}
