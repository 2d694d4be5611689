import { secondFactorStepUp } from '../api/generated';
import { finishProofRequest } from '../live/step-up';
import { PasskeyButton } from '../parts/second-factor/passkey-button';
import { SecondFactorCodeField, readProof } from '../parts/second-factor/proof-field';
import { Dialog } from '../ui/dialog';
import { Form } from '../ui/form';

/** Asks for the second factor. A correct answer continues the waiting requests; closing the dialog rejects them. */
export function StepUp() {
  return (
    <Dialog
      open
      onOpenChange={() => finishProofRequest(false)}
      title="Confirm your identity"
      description="This action needs a code or a passkey. The confirmation is valid for a few minutes."
      keeps
    >
      <Form
        submit="Continue"
        onSubmit={(values) => secondFactorStepUp({ body: readProof(values) })}
        onDone={() => finishProofRequest(true)}
      >
        <SecondFactorCodeField />
      </Form>
      <PasskeyButton
        label="Use a passkey"
        act={async (passkey) => {
          await secondFactorStepUp({ body: { passkey } });
          finishProofRequest(true);
        }}
      />
    </Dialog>
  );
}
