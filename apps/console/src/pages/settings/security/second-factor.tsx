import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { secondFactorBegin, secondFactorConfirm, secondFactorRemove } from '../../../api/generated';
import { ownFactorQuery } from '../../../api/session';
import { Time } from '../../../format/time';
import { Enrol } from '../../../parts/second-factor/enrol';
import { ProofField, proofOf } from '../../../parts/second-factor/proof-field';
import { Button } from '../../../ui/button';
import { Dialog } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Form, TextField } from '../../../ui/form';
import { Facts, Panel, Skeleton } from '../../../ui/page';
import { toast } from '../../../ui/toast';

/** One's own second factor: whether there is one, and how it is set up or removed. */
export function SecondFactor() {
  const [open, setOpen] = useState<'set-up' | 'removal' | null>(null);
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(ownFactorQuery);
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />;
  const close = () => setOpen(null);
  const done = (what: string) => {
    close();
    toast(what);
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
      <Facts
        facts={
          data.since
            ? [
                ['Codes of an authenticator app', <Time key="since" at={data.since} relative />],
                ['Recovery codes left', String(data.recoveryCodesLeft)],
              ]
            : [['Codes of an authenticator app', data.passkeys > 0 ? 'none' : 'none: your password alone signs you in']]
        }
      />
      {open === 'set-up' && (
        <Dialog open onOpenChange={close} title="Set up a second factor" keeps>
          <Enrol
            begin={() => secondFactorBegin()}
            confirm={(code) => secondFactorConfirm({ body: { code } })}
            onDone={() => done('Your sign-in has a second factor now.')}
          >
            <p>
              After your password, a sign-in asks for a code that an app on your telephone shows. Your other sessions
              end.
            </p>
          </Enrol>
        </Dialog>
      )}
      {open === 'removal' && (
        <Dialog
          open
          onOpenChange={close}
          title="Remove your second factor"
          description="Your other sessions end. Where the organization requires one, this one ends too, and the next sign-in asks you to set one up."
        >
          <Form
            submit="Remove"
            danger
            onSubmit={(values) =>
              secondFactorRemove({ body: { password: values.exact('password'), ...proofOf(values) } })
            }
            onDone={() => done('No codes of an app are asked for now.')}
          >
            <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
            <ProofField />
          </Form>
        </Dialog>
      )}
    </Panel>
  );
}
