import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../../api/api-error';
import {
  installationsRead,
  installationsRollBack,
  type PackInstallation,
  type WorkflowPack,
} from '../../../api/generated';
import { useHasRole } from '../../../api/session';
import { readWithEtag } from '../../../api/versioned';
import { formatCount } from '../../../format/format';
import { ConfirmDialog } from '../../../ui/dialog';
import { ActionMenu } from '../../../ui/menu';
import { showToast } from '../../../ui/toast';
import { EditInstallationDialog, PinDialog } from './installation-dialogs';
import { formatVersion } from '../format-version';

interface InstallationMenuProps {
  pack: WorkflowPack;
  installation: PackInstallation;
}

export function InstallationMenu({ pack, installation }: InstallationMenuProps) {
  const [dialog, setDialog] = useState<'pin' | 'edit' | 'rollback' | null>(null);
  const isMember = useHasRole('member');
  const closeDialog = () => setDialog(null);
  const { name, previousVersionId } = installation;
  return (
    <>
      <ActionMenu
        name={name}
        actions={[
          isMember && { label: 'Pin', run: () => setDialog('pin') },
          isMember && {
            label: 'Roll back',
            off: !previousVersionId && 'There is no previous version.',
            run: () => setDialog('rollback'),
          },
          isMember && { label: 'Edit', run: () => setDialog('edit') },
        ]}
      />
      {dialog === 'pin' && <PinDialog pack={pack} installation={installation} close={closeDialog} />}
      {dialog === 'edit' && <EditInstallationDialog installation={installation} close={closeDialog} />}
      {dialog === 'rollback' && <RollBackDialog pack={pack} installation={installation} close={closeDialog} />}
    </>
  );
}

function RollBackDialog({ pack, installation, close }: InstallationMenuProps & { close: () => void }) {
  const client = useQueryClient();
  const { id, name, pinnedVersionId, previousVersionId } = installation;
  const formatVersionName = (wanted: string | null) => {
    const version = pack.versions.find(({ versionId }) => versionId === wanted);
    return version ? formatVersion(version) : 'nothing';
  };
  return (
    <ConfirmDialog
      open
      onOpenChange={close}
      title={`Roll back ${name}?`}
      verb="Roll back"
      act={async () => {
        const { etag, ...current } = await readWithEtag((options) => installationsRead({ ...options, path: { id } }));
        if (current.pinnedVersionId !== pinnedVersionId || current.previousVersionId !== previousVersionId) {
          await client.invalidateQueries({ queryKey: ['packs'] });
          throw new ApiError(412, {
            code: 'precondition_failed',
            detail: 'Another user has pinned a different version. Check the versions and try again.',
          });
        }
        const headers = { 'If-Match': etag };
        const { queuedJobs } = await installationsRollBack({ path: { id }, body: {}, headers });
        await client.invalidateQueries({ queryKey: ['packs'] });
        const note =
          queuedJobs.length > 0 ? ` ${formatCount(queuedJobs.length)} queued runs keep the other version.` : '';
        showToast(`${name} was rolled back to ${formatVersionName(previousVersionId)}.${note}`);
      }}
    >
      From <bdi>{formatVersionName(pinnedVersionId)}</bdi> to <bdi>{formatVersionName(previousVersionId)}</bdi>, from
      the next launch on. Waiting runs keep the version that they were launched with.
    </ConfirmDialog>
  );
}
