import { useMutation, useQuery } from '@tanstack/react-query';
import { type DeviceLogin, deviceAnswer, deviceRead } from '../../api/generated';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { Form, TextField } from '../../ui/form';
import { FactList, Page, Panel, Skeleton } from '../../ui/page';
import { useUrlState } from '../../ui/table/use-url-state';

/** Page where a user approves the sign-in of a program that shows a code. `muster login` opens it. */
export function DevicePage() {
  const [{ code }, change] = useUrlState();
  return (
    <Page title="Sign in a program">
      <div className="max-w-lg">
        {code ? (
          <WaitingProgram key={code} code={code} onOther={() => change({ code: undefined })} />
        ) : (
          <Panel unnamed title="Enter the code that the program shows">
            <Form
              submit="Continue"
              onSubmit={(values) => Promise.resolve(values.readText('code'))}
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
    // After the sign-in was allowed or denied, the API no longer returns it. The query is not refetched, so the page
    // still shows the sign-in.
    staleTime: Infinity,
    retry: false,
  });
  if (isPending) return <Skeleton rows={3} />;
  if (data) return <LoginDecision device={data} />;
  return (
    <Panel unnamed title="Code">
      <ErrorNote error={error} />
      <Button onClick={onOther}>Another code</Button>
    </Panel>
  );
}

function LoginDecision({ device: { userCode, deviceName, address, askedAt, expiresAt } }: { device: DeviceLogin }) {
  const { mutate, data, variables, error, isPending } = useMutation({
    mutationFn: (allow: boolean) => deviceAnswer({ body: { userCode, allow } }),
  });
  if (data) {
    return (
      <Panel unnamed title="Answered">
        <p role="status">
          {variables
            ? `${deviceName} is signed in and continues automatically. You can close this page.`
            : `${deviceName} is not signed in.`}
        </p>
      </Panel>
    );
  }
  return (
    <Panel title={deviceName}>
      <p>
        The program gets an API key with your rights, but at most those of a member. Allow it only if you started this
        sign-in yourself and the program shows the same code. The key is valid until it is revoked or you change your
        password, but not longer than your organization allows.
      </p>
      <FactList
        facts={[
          ['Code', <code key="code">{userCode}</code>],
          ['Requested from', address],
          ['Requested', <Time key="asked" at={askedAt} relative />],
          ['Code expires', <Time key="until" at={expiresAt} />],
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
