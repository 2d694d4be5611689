import { Passkeys } from './passkeys';
import { Password } from './password';
import { SecondFactor } from './second-factor';
import { Sessions } from './sessions';

/** One's own sign-in: what proves it, and where one is signed in. */
export function Security() {
  return (
    <>
      <Password />
      <SecondFactor />
      <Passkeys />
      <Sessions />
    </>
  );
}
