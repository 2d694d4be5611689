/** Kinds of answers that a question can require. */
export const questionKinds = ['code', 'text', 'choice', 'confirm', 'form'] as const;
export type QuestionKind = (typeof questionKinds)[number];

export const questionStatuses = ['open', 'answered', 'expired', 'cancelled'] as const;
export type QuestionStatus = (typeof questionStatuses)[number];

/** Channels through which an answer can arrive. */
export const answerWays = ['console', 'api', 'link', 'inbound', 'totp'] as const;
export type AnswerWay = (typeof answerWays)[number];

/** A one-time code: 4 to 10 letters and digits. */
export const codePattern = /^[A-Za-z0-9]{4,10}$/;

/** Kinds of input that a person can send to the browser of a run. */
export const screenInputKinds = ['click', 'type', 'key', 'scroll'] as const;
export type ScreenInputKind = (typeof screenInputKinds)[number];

/** Keys that an input can press. Keys that type a character are left out, because typed text is not audited. */
export const screenKeys = [
  'Enter',
  'Tab',
  'Escape',
  'Backspace',
  'Delete',
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
  'PageUp',
  'PageDown',
] as const;
export type ScreenKey = (typeof screenKeys)[number];
