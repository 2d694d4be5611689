import { SendHorizontal, Square } from 'lucide-react';
import { useId, useRef, useState } from 'react';
import { usePermission } from '../../../api/session';
import { Button } from '../../../ui/button';
import { inputClass } from '../../../ui/form';

interface ComposerProps {
  isNew: boolean;
  /** Whether the assistant is answering. */
  isTalking: boolean;
  /** Whether the assistant is answering in another conversation. */
  isElsewhere: boolean;
  say: (message: string, autoConfirm: boolean) => Promise<void>;
  stop: () => void;
}

/** Field for the next message. Enter sends it; Shift+Enter starts a new line. */
export function ChatMessageField({ isNew, isTalking, isElsewhere, say, stop }: ComposerProps) {
  const [message, setMessage] = useState('');
  const autoConfirm = useRef<HTMLInputElement>(null);
  const maySkipConfirmation = usePermission('agents.admin');
  const id = useId();
  const sendMessage = () => {
    if (isTalking || message.trim() === '') return;
    setMessage('');
    void say(message, autoConfirm.current?.checked ?? false);
  };
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        sendMessage();
      }}
    >
      <label htmlFor={id} className="font-medium">
        Message
      </label>
      <textarea
        id={id}
        rows={3}
        maxLength={8000}
        value={message}
        onChange={({ target }) => setMessage(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          sendMessage();
        }}
        className={inputClass}
      />
      <div className="flex flex-wrap items-center justify-end gap-3">
        {isNew && maySkipConfirmation && (
          <label className="mr-auto flex items-center gap-2">
            <input ref={autoConfirm} type="checkbox" className="size-4 shrink-0" />
            Let the assistant make changes without asking in this conversation
          </label>
        )}
        {isElsewhere && <span className="text-dim">The assistant is answering in another conversation.</span>}
        {isTalking ? (
          <Button onClick={stop}>
            <Square aria-hidden className="size-4" />
            Stop answer
          </Button>
        ) : (
          <Button type="submit" look="primary" disabled={message.trim() === ''}>
            <SendHorizontal aria-hidden className="size-4" />
            Send
          </Button>
        )}
      </div>
    </form>
  );
}
