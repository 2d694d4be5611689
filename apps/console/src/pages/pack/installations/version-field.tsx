import { isInstallableStage } from '@muster/contracts/words';
import type { WorkflowPack } from '../../../api/generated';
import { SelectField } from '../../../ui/form';
import { formatVersion } from '../format-version';

interface VersionFieldProps {
  pack: WorkflowPack;
  initial?: string | null;
  /** Label of the option that selects no version. Without it, a version must be selected. */
  none?: string;
}

/** The versions that an installation may be pinned to. */
export function VersionField({ pack, initial, none }: VersionFieldProps) {
  const options = pack.versions
    .filter(({ stage }) => isInstallableStage(stage))
    .map((version) => ({ value: version.versionId, label: `${formatVersion(version)}, ${version.stage}` }));
  return (
    <SelectField
      label="Version"
      name="versionId"
      required={!none}
      defaultValue={initial ?? undefined}
      hint={
        options.length === 0
          ? 'No version is in the stage pilot or production yet. Promote a version first.'
          : undefined
      }
      options={none ? [{ value: '', label: none }, ...options] : options}
    />
  );
}
