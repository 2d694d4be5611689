import { useQueryClient } from '@tanstack/react-query';
import { installationsCreate, type WorkflowPack } from '../../../api/generated';
import { useIdempotencyKey } from '../../../api/idempotency';
import { Dialog } from '../../../ui/dialog';
import { CheckField, Form, TextField } from '../../../ui/form';
import { showToast } from '../../../ui/toast';
import { VersionField } from './version-field';

export function NewInstallationDialog({ pack, close }: { pack: WorkflowPack; close: () => void }) {
  const client = useQueryClient();
  const keyOf = useIdempotencyKey();
  return (
    <Dialog open onOpenChange={close} title="New installation">
      <Form
        submit="Create installation"
        onSubmit={(values) => {
          const versionId = values.readText('versionId');
          const body = {
            packId: pack.id,
            name: values.readText('name'),
            ...(values.readFlag('isPilot') ? { metadata: { ring: 'pilot' } } : {}),
            ...(versionId ? { versionId } : {}),
          };
          return installationsCreate({ body, headers: keyOf(body) });
        }}
        onDone={async ({ name }) => {
          await client.invalidateQueries({ queryKey: ['packs'] });
          close();
          showToast(`${name} was created.`);
        }}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={200}
          hint="For example, the name of the practice."
          autoComplete="off"
        />
        <VersionField pack={pack} none="Not yet" />
        <CheckField label="Pilot installation" name="isPilot" initial={false} />
      </Form>
    </Dialog>
  );
}
