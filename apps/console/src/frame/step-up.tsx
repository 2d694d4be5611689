import { secondFactorStepUp } from '../api/generated';
import { answerProof } from '../live/step-up';
import { PasskeyButton } from '../parts/second-factor/passkey-button';
import { ProofField, proofOf } from '../parts/second-factor/proof-field';
import { Dialog } from '../ui/dialog';
import { Form } from '../ui/form';

/** Asks for the second factor. A correct answer continues the waiting requests; closing the dialog rejects them. */
export function StepUp() {
  return (
    <Dialog
      open
      onOpenChange={() => answerProof(false)}
      title="Confirm your identity"
      description="This action needs a code or a passkey. The confirmation is valid for 15 minutes."
      keeps
    >
      <Form
        submit="Continue"
        onSubmit={(values) => secondFactorStepUp({ body: proofOf(values) })}
        onDone={() => answerProof(true)}
      >
        <ProofField />
      </Form>
      <PasskeyButton
        label="Use a passkey"
        act={async (passkey) => {
          await secondFactorStepUp({ body: { passkey } });
          answerProof(true);
        }}
      />
    </Dialog>
  );
}
