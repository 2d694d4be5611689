import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { secondFactorBegin, secondFactorConfirm, secondFactorRemove } from '../../../api/generated';
import { ownFactorQuery } from '../../../api/session';
import { Time } from '../../../format/time';
import { EnrolAuthenticator } from '../../../parts/second-factor/enrol';
import { SecondFactorCodeField, readProof } from '../../../parts/second-factor/proof-field';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Form, TextField } from '../../../ui/form';
import { FactList, Panel, Skeleton } from '../../../ui/page';
import { showToast } from '../../../ui/toast';

/** The user's own second factor: its state, and dialogs that set it up or remove it. */
export function SecondFactor() {
  const [open, setOpen] = useState<'set-up' | 'removal' | null>(null);
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(ownFactorQuery);
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />;
  const closeDialog = () => setOpen(null);
  const finishWithToast = (what: string) => {
    closeDialog();
    showToast(what);
    void client.invalidateQueries();
  };
  return (
    <Panel
      title="Second factor"
      actions={
        data.since ? (
          <Button onClick={() => setOpen('removal')}>Remove</Button>
        ) : (
          <Button onClick={() => setOpen('set-up')}>Set up</Button>
        )
      }
    >
      <FactList
        facts={
          data.since
            ? [
                ['Authenticator app', <Time key="since" at={data.since} relative />],
                ['Recovery codes left', String(data.recoveryCodesLeft)],
              ]
            : [['Authenticator app', data.passkeys > 0 ? 'none' : 'none: your password alone signs you in']]
        }
      />
      {open === 'set-up' && (
        <Dialog open onOpenChange={closeDialog} title="Set up a second factor" keeps>
          <EnrolAuthenticator
            begin={() => secondFactorBegin()}
            confirm={(code) => secondFactorConfirm({ body: { code } })}
            onDone={() => finishWithToast('The second factor is set up.')}
          >
            <p>
              At each sign-in, you enter a code from an authenticator app after your password. Your other sessions end.
            </p>
          </EnrolAuthenticator>
        </Dialog>
      )}
      {open === 'removal' && (
        <Dialog
          open
          onOpenChange={closeDialog}
          title="Remove your second factor"
          description="Your other sessions end. If you must have a second factor, this session ends too, and you must set up a second factor at the next sign-in."
        >
          <Form
            submit="Remove"
            danger
            onSubmit={(values) =>
              secondFactorRemove({ body: { password: values.readExactText('password'), ...readProof(values) } })
            }
            onDone={() => finishWithToast('The second factor was removed.')}
          >
            <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
            <SecondFactorCodeField />
          </Form>
        </Dialog>
      )}
    </Panel>
  );
}
