import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { allowedStageChanges, getPermissionForStage, type PackStage } from '@muster/contracts/words';
import { type PackVersion, versionsPromote, type WorkflowPack } from '../../api/generated';
import { useCurrentUser } from '../../api/session';
import { Dialog } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { showToast } from '../../ui/toast';
import { formatVersion } from './format-version';

const order: readonly PackStage[] = ['draft', 'internal_verified', 'pilot', 'production'];

/** Menu of a version: the stage changes that the user's permissions allow, and the export. */
export function VersionMenu({ pack, version }: { pack: WorkflowPack; version: PackVersion }) {
  const { permissions } = useCurrentUser().user;
  const [targetStage, setTargetStage] = useState<PackStage | null>(null);
  const { packId, versionId, number, stage } = version;
  const allowed = allowedStageChanges[stage].filter(
    (to) => permissions.includes('packs.write') && permissions.includes(getPermissionForStage(to)),
  );
  return (
    <>
      <ActionMenu
        name={`version ${number}`}
        actions={[
          ...allowed.map((to) => ({
            label: getStageVerb(stage, to),
            danger: to === 'archived',
            run: () => setTargetStage(to),
          })),
          {
            label: 'Export',
            run: () => location.assign(`/api/workflow-packs/${packId}/versions/${versionId}/export`),
          },
        ]}
      />
      {targetStage && <StageDialog pack={pack} version={version} to={targetStage} close={() => setTargetStage(null)} />}
    </>
  );
}

interface StageDialogProps {
  pack: WorkflowPack;
  version: PackVersion;
  to: PackStage;
  close: () => void;
}

function StageDialog({ pack, version, to, close }: StageDialogProps) {
  const client = useQueryClient();
  const { versionId, stage } = version;
  const verb = getStageVerb(stage, to);
  const pinned = pack.installations.filter(({ pinnedVersionId }) => pinnedVersionId === versionId);
  return (
    <Dialog open onOpenChange={close} title={`${verb}: ${formatVersion(version)}?`}>
      <p className="text-dim">
        {effects[to]}
        {pinned.length > 0 && (
          <>
            {' '}
            These installations keep using this version: <bdi>{pinned.map(({ name }) => name).join(', ')}</bdi>
          </>
        )}
      </p>
      <Form
        submit={verb}
        danger={to === 'archived'}
        onSubmit={(values) => {
          const reason = values.readText('reason');
          const body = { stage: to, ...(reason ? { reason } : {}) };
          return versionsPromote({ path: { id: pack.id, versionId }, body });
        }}
        onDone={async () => {
          await client.invalidateQueries({ queryKey: ['packs'] });
          close();
          showToast(`${formatVersion(version)} is ${to}.`);
        }}
      >
        <TextField
          label="Reason"
          name="reason"
          hint="The reason is stored in the history of the version."
          autoComplete="off"
        />
      </Form>
    </Dialog>
  );
}

const effects: Record<PackStage, string> = {
  draft: 'The version is not verified.',
  internal_verified: 'The version is verified internally. Promote it to pilot before you pin installations to it.',
  pilot: 'Installations can be pinned to this version.',
  production: 'Installations can be pinned to this version, and it is the recommended one.',
  deprecated: 'Installations can no longer be pinned to this version.',
  archived:
    'This cannot be undone. An archived version cannot change its stage, and installations cannot be pinned to it.',
};

function getStageVerb(from: PackStage, to: PackStage): string {
  if (to === 'archived') return 'Archive';
  if (to === 'deprecated') return 'Deprecate';
  const isBack = from !== 'deprecated' && order.indexOf(to) < order.indexOf(from);
  return `${isBack ? 'Move back' : 'Promote'} to ${to}`;
}
