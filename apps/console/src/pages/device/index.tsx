import { useMutation, useQuery } from '@tanstack/react-query';
import { type DeviceLogin, deviceAnswer, deviceRead } from '../../api/generated';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { Form, TextField } from '../../ui/form';
import { Facts, Page, Panel, Skeleton } from '../../ui/page';
import { useUrlState } from '../../ui/table/use-url-state';

/** Where somebody lets a program in that shows a code: `muster login` opens it. */
export function DevicePage() {
  const [{ code }, change] = useUrlState();
  return (
    <Page title="Sign in a program">
      <div className="max-w-lg">
        {code ? (
          <WaitingProgram key={code} code={code} onOther={() => change({ code: undefined })} />
        ) : (
          <Panel unnamed title="Which code does it show?">
            <Form
              submit="Continue"
              onSubmit={(values) => Promise.resolve(values.text('code'))}
              onDone={(typed) => change({ code: typed })}
            >
              <TextField label="Code" name="code" placeholder="BKWT-RMXQ" autoComplete="off" required maxLength={20} />
            </Form>
          </Panel>
        )}
      </div>
    </Page>
  );
}

function WaitingProgram({ code, onOther }: { code: string; onOther: () => void }) {
  const { data, error, isPending } = useQuery({
    queryKey: ['device', code],
    queryFn: ({ signal }) => deviceRead({ query: { userCode: code }, signal }),
    // Once it is answered nothing is found any more, and what was shown stays.
    staleTime: Infinity,
    retry: false,
  });
  if (isPending) return <Skeleton rows={3} />;
  if (data) return <Decision device={data} />;
  return (
    <Panel unnamed title="Code">
      <ErrorNote error={error} />
      <Button onClick={onOther}>Another code</Button>
    </Panel>
  );
}

function Decision({ device: { userCode, deviceName, address, askedAt, expiresAt } }: { device: DeviceLogin }) {
  const { mutate, data, variables, error, isPending } = useMutation({
    mutationFn: (allow: boolean) => deviceAnswer({ body: { userCode, allow } }),
  });
  if (data) {
    return (
      <Panel unnamed title="Answered">
        <p role="status">
          {variables
            ? `${deviceName} is let in. It goes on by itself; you can close this page.`
            : `${deviceName} is not let in.`}
        </p>
      </Panel>
    );
  }
  return (
    <Panel title={deviceName}>
      <p>
        It gets an API key with your rights, a member’s at most. Allow it only if you began this yourself and your
        program shows the same code.
      </p>
      <Facts
        facts={[
          ['Code', <code key="code">{userCode}</code>],
          ['Asked from', address],
          ['Asked', <Time key="asked" at={askedAt} relative />],
          ['Waits until', <Time key="until" at={expiresAt} />],
        ]}
      />
      {error && <ErrorNote error={error} />}
      <div className="flex gap-2">
        <Button look="primary" busy={isPending} onClick={() => mutate(true)}>
          Allow
        </Button>
        <Button busy={isPending} onClick={() => mutate(false)}>
          Do not allow
        </Button>
      </div>
    </Panel>
  );
}
