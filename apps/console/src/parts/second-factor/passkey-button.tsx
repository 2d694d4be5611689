import { useMutation } from '@tanstack/react-query';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';

interface PasskeyButtonProps {
  label: string;
  /** With what the browser answered. */
  act: (passkey: Record<string, unknown>) => Promise<unknown>;
}

/** Has the browser ask for a passkey. What talks to the browser is loaded with the first press. */
export function PasskeyButton({ label, act }: PasskeyButtonProps) {
  const asking = useMutation({
    mutationFn: async () => act(await (await import('./passkeys')).askForPasskey()),
  });
  return (
    <>
      <Button busy={asking.isPending} onClick={() => asking.mutate()}>
        {label}
      </Button>
      {asking.isError && <ErrorNote error={asking.error} />}
    </>
  );
}
