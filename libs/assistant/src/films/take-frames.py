import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

MAX_SECONDS = 3600
CANDIDATES = 2000
SCENE = 0.01


def build_url(path):
    return path if "://" in path else os.environ["SERVICE_BASE_URL"].rstrip("/") + path


def print_answer_and_exit(**answer):
    print(json.dumps(answer))
    sys.exit(0)


def parse_seconds(text):
    hours, minutes, rest = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def main():
    with open("inputs.json", encoding="utf-8") as file:
        given = json.load(file)
    places = json.loads(given["frames"])
    ffmpeg = shutil.which("ffmpeg")
    if not ffmpeg:
        print_answer_and_exit(code="frames_unavailable", error="There is no ffmpeg on the machine.")
    folder = tempfile.mkdtemp()
    film = os.path.join(folder, "film")
    with urllib.request.urlopen(build_url(given["film"]), timeout=60) as source, open(film, "wb") as target:
        shutil.copyfileobj(source, target)
    looked = subprocess.run([ffmpeg, "-hide_banner", "-i", film], capture_output=True, text=True, errors="replace")
    if "Video:" not in looked.stderr:
        print_answer_and_exit(code="recording_unreadable", error="The recording is not a readable video.")
    known = re.search(r"Duration: (\d+:\d+:\d+(?:\.\d+)?)", looked.stderr)
    duration = parse_seconds(known.group(1)) if known else None
    if duration is not None and duration > MAX_SECONDS:
        print_answer_and_exit(code="recording_too_long", error="The recording is longer than 60 minutes.")
    # The first image, and each image at which the scene changes.
    chosen = f"select='eq(n,0)+gt(scene,{SCENE})',scale='min(1280,iw)':-2,showinfo"
    taken = subprocess.run(
        [ffmpeg, "-hide_banner", "-nostdin", "-i", film, "-an", "-vf", chosen, "-vsync", "vfr"]
        + ["-frames:v", str(CANDIDATES), "-q:v", "4", os.path.join(folder, "%05d.jpg")],
        capture_output=True,
        text=True,
        errors="replace",
    )
    times = [float(time) for time in re.findall(r"pts_time:\s*([\d.]+)", taken.stderr)]
    pictures = sorted(name for name in os.listdir(folder) if name.endswith(".jpg"))
    count = min(len(times), len(pictures))
    if count == 0:
        print_answer_and_exit(code="recording_unreadable", error="No image of the recording can be read.")
    if duration is None and times[count - 1] > MAX_SECONDS:
        print_answer_and_exit(code="recording_too_long", error="The recording is longer than 60 minutes.")
    most = min(count, len(places))
    spread = [at * count // most for at in range(most)]
    frames = []
    for place, at in zip(places, spread):
        with open(os.path.join(folder, pictures[at]), "rb") as picture:
            request = urllib.request.Request(
                build_url(place["url"]), data=picture.read(), method="PUT", headers=place["headers"]
            )
        urllib.request.urlopen(request, timeout=60).close()
        frames.append(round(times[at] * 1000))
    shutil.rmtree(folder, ignore_errors=True)
    print_answer_and_exit(frames=frames, durationMs=None if duration is None else round(duration * 1000))


main()
