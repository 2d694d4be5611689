/**
 * Reloads the page if the service has a newer build, whose deployment removed the files of this one. It reloads each
 * address once; after that the error is shown. If only the connection is lost, it does not reload, because that would
 * discard what the user typed.
 */
export async function reloadIfOlder(): Promise<void> {
  if (sessionStorage.getItem(lastReload) === location.href || !(await isBuildOlder())) return;
  sessionStorage.setItem(lastReload, location.href);
  location.reload();
}

async function isBuildOlder(): Promise<boolean> {
  const own = document.querySelector('script[type="module"][src]')?.getAttribute('src');
  try {
    const answer = await fetch(import.meta.env.BASE_URL, { cache: 'no-store' });
    return answer.ok && own !== null && own !== undefined && !(await answer.text()).includes(own);
  } catch {
    return false;
  }
}

const lastReload = 'muster-reloaded';
