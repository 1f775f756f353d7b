// The websocket: documents and pictures in, short messages out; tries again when it is cut.

export class Connection {
  constructor({ document, pictures, status }) {
    this.handlers = { document, pictures, status };
    this.wait = 500;
    this.#open();
    setInterval(() => this.send({ type: "here" }), 20000);
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  #open() {
    const address = new URL("socket", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(address);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => {
      this.wait = 500;
      this.handlers.status("connected");
    };
    this.socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.handlers.document(JSON.parse(data));
      else this.#take(data);
    };
    this.socket.onclose = ({ reason }) => {
      this.handlers.status("lost", reason);
      setTimeout(() => this.#open(), this.wait);
      this.wait = Math.min(2 * this.wait, 8000);
    };
  }

  // The length of a JSON document, the document, and the pictures one after the other.
  async #take(data) {
    const length = new DataView(data).getUint32(0);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
    let start = 4 + length;
    const pictures = header.lanes.map(({ bytes }) => {
      const picture = new Blob([new Uint8Array(data, start, bytes)], { type: "image/jpeg" });
      start += bytes;
      return picture;
    });
    try {
      await this.handlers.pictures(header, pictures);
    } finally {
      this.send({ type: "seen", picture: header.picture });
    }
  }
}
