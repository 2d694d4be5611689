import type { ChatMessage } from '../../../api/generated';
import { Time } from '../../../format/time';
import { ErrorWithAdvice } from '../../../ui/error-note';
import { StatusMark } from '../../../ui/status-mark';
import { ToolCall } from './tool-call';

interface MessageProps {
  agentId: string;
  message: ChatMessage;
  isComing?: boolean;
  /** Called after a tool call of the message was approved or declined. */
  decided: () => Promise<void>;
}

const unfinished: Record<NonNullable<ChatMessage['status']>, string> = {
  running: 'The answer is in progress.',
  failed: 'The answer failed.',
  left: 'The answer was stopped here, by you or because the page was closed.',
  interrupted: 'The answer was interrupted here, because a process of the service ended. Send the message again.',
};

/** Message of the user or of the model. Its content is shown as text, never as markup. */
export function Message({ agentId, message, isComing = false, decided }: MessageProps) {
  const { role, content, toolCalls = [], at, status, error, code } = message;
  const isOwn = role === 'user';
  return (
    <div
      data-testid="chat-message"
      data-role={role}
      aria-busy={isComing || undefined}
      className={`flex max-w-full flex-col gap-2 rounded-panel border border-line p-3 ${
        isOwn ? 'ml-auto bg-picked sm:max-w-[85%]' : 'bg-surface'
      }`}
    >
      <p className="flex items-center gap-2 text-xs text-dim">
        {isOwn ? 'You' : 'Assistant'}
        {at && <Time at={at} relative />}
        {isComing && <StatusMark status="running" />}
      </p>
      {toolCalls.map((call) => (
        <ToolCall key={call.id} agentId={agentId} call={call} decided={decided} />
      ))}
      {content && (
        <p dir="auto" className="min-w-0 break-words whitespace-pre-wrap">
          {content}
        </p>
      )}
      {status && !isComing && !error && <p className="text-xs text-dim">{unfinished[status]}</p>}
      <ErrorWithAdvice error={error} code={code === 'interrupted' ? null : code} />
    </div>
  );
}
