import { type ReactNode, useEffect, useState } from 'react';
import type { RecoveryCodes, TotpEnrolment } from '../../api/generated';
import { CopyText } from '../../ui/copy-text';
import { Form, TextField } from '../../ui/form';

interface EnrolProps<A extends RecoveryCodes> {
  /** Text that explains why the second factor is set up. */
  children: ReactNode;
  actions?: ReactNode;
  begin: () => Promise<TotpEnrolment>;
  confirm: (code: string) => Promise<A>;
  onDone: (confirmed: A) => void;
}

/** Sets up a second factor: the user adds the secret to an app, enters a first code and saves the recovery codes. */
export function EnrolAuthenticator<A extends RecoveryCodes>({
  children,
  actions,
  begin,
  confirm,
  onDone,
}: EnrolProps<A>) {
  const [begun, setBegun] = useState<TotpEnrolment | null>(null);
  const [confirmed, setConfirmed] = useState<A | null>(null);
  if (confirmed) {
    return (
      <Form key="codes" submit="I have saved them" onSubmit={() => Promise.resolve(confirmed)} onDone={onDone}>
        <p>Save these recovery codes in a safe place. Each code signs you in once if you cannot use your app.</p>
        <CopyText label="Recovery codes" text={confirmed.recoveryCodes.join('\n')} />
      </Form>
    );
  }
  if (begun) {
    return (
      <Form
        key="confirm"
        submit="Confirm"
        actions={actions}
        onSubmit={(values) => confirm(values.readText('code'))}
        onDone={setConfirmed}
      >
        <p>Scan the QR code with an authenticator app, or type the secret into the app.</p>
        <QrPicture svg={begun.qrSvg} />
        <CopyText label="Secret" text={begun.secret} />
        <TextField
          label="Code that the app shows"
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
        />
      </Form>
    );
  }
  return (
    <Form key="begin" submit="Set up" actions={actions} onSubmit={begin} onDone={setBegun}>
      {children}
    </Form>
  );
}

/** Shows the SVG in an <img> and not as markup, so that it cannot run scripts in the page. */
function QrPicture({ svg }: { svg: string }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  return <img src={address} alt="The secret as a QR code" className="size-48 self-center" />;
}
