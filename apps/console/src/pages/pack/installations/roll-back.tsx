import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../../api/api-error';
import {
  installationsPin,
  installationsRead,
  installationsRollBack,
  type PackInstallation,
  type WorkflowPack,
} from '../../../api/generated';
import { readWithEtag } from '../../../api/versioned';
import { formatCount } from '../../../format/format';
import { Button } from '../../../ui/button';
import { showErrorToast, showToast } from '../../../ui/toast';
import { formatVersion } from '../format-version';

interface RollBackProps {
  pack: WorkflowPack;
  installation: PackInstallation;
}

type Pins = Pick<PackInstallation, 'pinnedVersionId' | 'previousVersionId'>;

/** Pins the installation to its previous version. The button names the version, and the toast offers to undo it. */
export function RollBackButton({ pack, installation }: RollBackProps) {
  const client = useQueryClient();
  const path = { id: installation.id };
  const { name, pinnedVersionId, previousVersionId } = installation;
  const formatVersionName = (wanted: string | null) => {
    const version = pack.versions.find(({ versionId }) => versionId === wanted);
    return version ? formatVersion(version) : 'nothing';
  };
  const undoRollBack = async () => {
    try {
      const { etag } = await readUnchanged(path.id, {
        pinnedVersionId: previousVersionId,
        previousVersionId: pinnedVersionId,
      });
      await installationsPin({ path, body: { versionId: pinnedVersionId! }, headers: { 'If-Match': etag } });
      showToast(`${name} is pinned to ${formatVersionName(pinnedVersionId)} again.`);
    } catch (error) {
      showErrorToast(error, name);
    }
    await client.invalidateQueries({ queryKey: ['packs'] });
  };
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const { etag } = await readUnchanged(path.id, installation);
      return installationsRollBack({ path, body: {}, headers: { 'If-Match': etag } });
    },
    onSuccess: ({ queuedJobs }) => {
      const count = queuedJobs.length;
      const queueNote = count > 0 ? ` ${formatCount(count)} queued runs keep the other version.` : '';
      showToast(
        `${name} was rolled back to ${formatVersionName(previousVersionId)}.${queueNote}`,
        () => void undoRollBack(),
      );
    },
    onError: (error) => showErrorToast(error, name),
    onSettled: () => client.invalidateQueries({ queryKey: ['packs'] }),
  });
  if (!previousVersionId) return null;
  return (
    <Button
      busy={isPending}
      onClick={() => mutate()}
      title="From the next launch on. Waiting runs keep the version that they were launched with."
    >
      Roll back to <bdi>{formatVersionName(previousVersionId)}</bdi>
    </Button>
  );
}

/** Reads the installation with its entity tag, and refuses one that was pinned to a version that was not displayed. */
async function readUnchanged(id: string, shown: Pins): Promise<{ etag: string }> {
  const current = await readWithEtag((options) => installationsRead({ ...options, path: { id } }));
  if (current.pinnedVersionId === shown.pinnedVersionId && current.previousVersionId === shown.previousVersionId) {
    return current;
  }
  throw new ApiError(412, {
    code: 'precondition_failed',
    detail: 'Another user has pinned a different version. Check the versions and try again.',
  });
}
