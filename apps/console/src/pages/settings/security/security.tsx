import { Passkeys } from './passkeys';
import { Password } from './password';
import { SecondFactor } from './second-factor';
import { Sessions } from './sessions';

/** The user's own password, second factor, passkeys and sessions. */
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
