import { useState } from 'react';
import type { SecondFactorProof } from '../../api/generated';
import { TextField, type Values } from '../../ui/form';

/** Field for a code of the authenticator app, or for a recovery code. */
export function SecondFactorCodeField() {
  const [isLost, setLost] = useState(false);
  return (
    <>
      {isLost ? (
        <TextField key="lost" label="Recovery code" name="recoveryCode" autoComplete="off" required autoFocus />
      ) : (
        <TextField
          key="code"
          label="Code from your authenticator app"
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          autoFocus
        />
      )}
      <button type="button" className="self-start text-accent underline" onClick={() => setLost(!isLost)}>
        {isLost ? 'Use a code from the app' : 'Use a recovery code'}
      </button>
    </>
  );
}

export function readProof(values: Values): SecondFactorProof {
  const code = values.readText('code');
  return code ? { code } : { recoveryCode: values.readText('recoveryCode') };
}
