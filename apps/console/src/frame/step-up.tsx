import { secondFactorStepUp } from '../api/generated';
import { answerProof } from '../live/step-up';
import { PasskeyButton } from '../parts/second-factor/passkey-button';
import { ProofField, proofOf } from '../parts/second-factor/proof-field';
import { Dialog } from '../ui/dialog';
import { Form } from '../ui/form';

/** What was asked for goes on once the code is right, and is refused when the dialog is closed. */
export function StepUp() {
  return (
    <Dialog
      open
      onOpenChange={() => answerProof(false)}
      title="Prove that it is you"
      description="This needs a code or a passkey that was proved within 15 minutes."
      keeps
    >
      <Form
        submit="Go on"
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
