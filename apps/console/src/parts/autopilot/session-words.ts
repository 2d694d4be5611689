import type { AutopilotSession, SessionPause } from '../../api/generated';

export function isSessionOver(status: AutopilotSession['status']): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** Why a session waits, and what answers it. */
export const pauseWords: Record<SessionPause['reason'], { title: string; hint: string }> = {
  attempts_exhausted: {
    title: 'Its attempts at this step are used up',
    hint: 'Say in other words what is to be done, give code for it, or leave the step out.',
  },
  one_time_code: {
    title: 'The page asks for a one-time code',
    hint: 'Give it as an instruction, such as: Enter the code 123456 and go on.',
  },
  captcha: {
    title: 'The page asks for a captcha',
    hint: 'It is yours to solve: on the machine itself, then resume; or leave the step out.',
  },
  before_submit: {
    title: 'It is about to send something for good',
    hint: 'Look at the picture: Resume sends it.',
  },
  unsure: {
    title: 'It is not sure what to do',
    hint: 'Answer its question as an instruction.',
  },
  outcome_unknown: {
    title: 'Nobody knows whether it was sent',
    hint: 'Look at the portal. Leave the step out if it was; resume if it was not.',
  },
};
