import { useMutation } from '@tanstack/react-query';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';

interface PasskeyButtonProps {
  label: string;
  /** Called with the browser's response. */
  act: (passkey: Record<string, unknown>) => Promise<unknown>;
}

/** Button that prompts for a passkey. The module for it is loaded with the first click. */
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
