import type { ComponentPropsWithRef, ReactNode } from 'react';

type Look = 'primary' | 'plain' | 'danger' | 'quiet';

const looks: Record<Look, string> = {
  primary: 'border-transparent bg-accent text-on-accent hover:brightness-110',
  plain: 'border-edge bg-surface text-ink hover:bg-sunken',
  danger: 'border-bad bg-surface text-bad hover:bg-bad-soft',
  quiet: 'border-transparent bg-transparent text-ink hover:bg-sunken',
};

/** Classes of a button, for links that look like one. */
export function getButtonClass(look: Look = 'plain'): string {
  return `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-control border px-3 py-1 font-medium
    whitespace-nowrap select-none disabled:cursor-not-allowed disabled:opacity-60 ${looks[look]}`;
}

interface ButtonProps extends ComponentPropsWithRef<'button'> {
  look?: Look;
  /** Whether the action is in progress: the button is disabled and has `aria-busy`. */
  busy?: boolean;
  children: ReactNode;
}

export function Button({ look, busy = false, type = 'button', className = '', disabled, ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      aria-busy={busy || undefined}
      disabled={busy || disabled}
      className={`${getButtonClass(look)} ${className}`}
      {...rest}
    />
  );
}

interface IconButtonProps extends ComponentPropsWithRef<'button'> {
  label: string;
  children: ReactNode;
}

/** A button with an icon; the label is its accessible name and tooltip. */
export function IconButton({ label, className = '', ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-8 shrink-0 items-center justify-center rounded-control hover:bg-sunken ${className}`}
      {...rest}
    />
  );
}
