import { type ReactNode, useEffect } from 'react';

/** Card of a page that needs no session. */
export function SignedOutCard({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Muster`;
  }, [title]);
  return (
    <main className="flex min-h-dvh items-center justify-center p-4">
      <div className="flex w-full max-w-sm flex-col gap-4 rounded-panel border border-line bg-surface p-6">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" className="size-9" />
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
